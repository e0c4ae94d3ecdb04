// Which device a command uses, and files that were decided on another.
#include "../../tuner/cli/device_choice.hpp"

#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

Device device_of(const std::string& id, const std::string& name) {
  Device device;
  device.id = id;
  device.backend = id == "cpu" ? Backend::cpu : Backend::cuda;
  device.name = name;
  return device;
}

}  // namespace

TEST_CASE("the first GPU is used where there is one, and a line says so", "[cli]") {
  const Device cpu = device_of("cpu", "Some CPU");
  const Device a = device_of("cuda:0", "GPU A"), b = device_of("cuda:1", "GPU B");
  CHECK(cli::choose_device({cpu}).device.id == "cpu");
  CHECK(cli::choose_device({cpu}).note.empty());
  CHECK(cli::choose_device({cpu, a}).device.id == "cuda:0");
  CHECK(cli::choose_device({cpu, a}).note == "device: cuda:0 (GPU A); --device cpu: the CPU");
  const cli::DeviceChoice of_two = cli::choose_device({cpu, a, b});
  CHECK(of_two.device.id == "cuda:0");
  CHECK(of_two.note == "device: cuda:0 (GPU A); the first of 2 GPUs; --device names another");
}

TEST_CASE("the device can be named in the environment, and a flag wins", "[cli]") {
  const Folder folder;
  const std::string run = "run --preset tiny --layers 1 --seq-len 64 --steps 1 ";
  CHECK(nsatune(folder, run, "NSATUNE_DEVICE=cuda:77").exit_code == 4);
  CHECK(nsatune(folder, run + "--device cpu", "NSATUNE_DEVICE=cuda:77").exit_code == 0);
  CHECK(nsatune(folder, run + "--device cuda:77").err.find("cuda:77 is not here") !=
        std::string::npos);
}

TEST_CASE("thresholds of another back end that somebody named are refused with what to do",
          "[cli]") {
  const Folder folder;
  ThresholdTable table;
  table.device = device_of("cuda:0", "NVIDIA H200");
  folder.write("gpu.json", Json(table).dump());
  const std::string run = "run --preset tiny --layers 1 --seq-len 64 --steps 1";
  const Result by_flag = nsatune(folder, run + " --thresholds gpu.json");
  const Result by_variable = nsatune(folder, run, "NSATUNE_THRESHOLDS=gpu.json");
  for (const Result* refused : {&by_flag, &by_variable}) {
    INFO(refused->err);
    CHECK(refused->exit_code == 2);
    CHECK(refused->out.empty());
    CHECK(refused->err.find("gpu.json: was decided on cuda:0 (NVIDIA H200) and this runs on cpu") !=
          std::string::npos);
  }
  CHECK(nsatune(folder, "explain gpu.json").exit_code == 0);  // read for its own device
}

TEST_CASE("a folder without thresholds is blamed itself, not a flag that nobody gave", "[cli]") {
  const Folder folder;
  std::filesystem::create_directory(folder.file("my folder"));
  const Result argument = nsatune(folder, "explain 'my folder' --device cpu");
  INFO(argument.err);
  CHECK(argument.exit_code == 2);
  CHECK(argument.err.starts_with("nsatune: my folder: holds no thresholds of a cpu device; "));
  const Result variable = nsatune(folder, "explain --device cpu", "NSATUNE_THRESHOLDS='my folder'");
  INFO(variable.err);
  CHECK(variable.exit_code == 2);
  CHECK(variable.err.starts_with("nsatune: NSATUNE_THRESHOLDS: my folder: holds no thresholds"));
}

TEST_CASE("a file is explained for its own device, and this machine's is not asked for", "[cli]") {
  const Folder folder;
  ThresholdTable table;
  table.device = device_of("cuda:0", "NVIDIA H200");
  folder.write("gpu.json", Json(table).dump());
  table.executor = "theirs";
  folder.write("foreign.json", Json(table).dump());
  for (const char* chosen : {"NSATUNE_DEVICE=cuda:77", "NSATUNE_DEVICE=auto"}) {
    const Result explained = nsatune(folder, "explain gpu.json --json", chosen);
    INFO(explained.err);
    CHECK(explained.exit_code == 0);
    CHECK(json_of(explained, "explain")["device"]["name"] == "NVIDIA H200");
    CHECK(explained.err.find("device:") == std::string::npos);
    CHECK(nsatune(folder, "explain foreign.json", chosen).exit_code == 3);  // it decides nothing
  }
  CHECK(nsatune(folder, "explain gpu.json --device cuda:77").exit_code == 4);
}

}  // namespace nsa::test
