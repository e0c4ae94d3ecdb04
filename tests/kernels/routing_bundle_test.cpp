// Where thresholds come from: flag, NSATUNE_THRESHOLDS, the user's data folder; file or bundle.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "nsa/schemas/json.hpp"
#include "routing_support.hpp"

using namespace nsa;
using namespace nsa::test;
namespace fs = std::filesystem;

namespace {

/// A folder of its own, and the variables that decide, restored at the end.
class Sandbox {
 public:
  Sandbox() : folder_(fs::temp_directory_path() / ("nsatune_" + make_uuid())) {
    fs::create_directories(folder_);
    set("NSATUNE_THRESHOLDS", nullptr);
    set("NSATUNE_SHIPPED", nullptr);
    set("XDG_DATA_HOME", folder_ / "xdg");
  }
  ~Sandbox() {
    fs::remove_all(folder_);
    for (const auto& [name, value] : saved_) {
      value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }
  }
  const fs::path& folder() const { return folder_; }
  void set(const std::string& name, const char* value) {
    const char* old = std::getenv(name.c_str());
    saved_.emplace_back(name, old ? std::optional<std::string>(old) : std::nullopt);
    value ? ::setenv(name.c_str(), value, 1) : ::unsetenv(name.c_str());
  }
  void set(const std::string& name, const fs::path& value) { set(name, value.c_str()); }

 private:
  fs::path folder_;
  std::vector<std::pair<std::string, std::optional<std::string>>> saved_;
};

std::string write(const fs::path& file, const ThresholdTable& t) {
  fs::create_directories(file.parent_path());
  write_text_file(file.string(), dump_thresholds(t));
  return file.string();
}

Device gpu(const std::string& name, int capability, int multiprocessors) {
  Device d;
  d.id = "cuda:0";
  d.backend = Backend::cuda;
  d.name = name;
  d.compute_capability = capability;
  d.multiprocessors = multiprocessors;
  return d;
}

}  // namespace

TEST_CASE("the flag beats the variable, which beats the user's folder", "[kernels][routing]") {
  Sandbox sandbox;
  const Device here = cpu();
  CHECK(!find_thresholds({}, here));
  const auto own = write(sandbox.folder() / "xdg/nsatune/thresholds" / device_file_name(here),
                         always(here, "packed"));
  REQUIRE(find_thresholds({}, here));
  CHECK(find_thresholds({}, here)->path == own);
  const auto named = write(sandbox.folder() / "named.json", always(here, "gather"));
  sandbox.set("NSATUNE_THRESHOLDS", named.c_str());
  CHECK(find_thresholds({}, here)->path == named);
  const auto flag = write(sandbox.folder() / "flag.json", always(here, "masked"));
  const auto found = find_thresholds(flag, here);
  CHECK(found->path == flag);
  CHECK(found->table.classes[0].decisions[0].ranges[0].variant.name == "masked");
}

TEST_CASE("a named file that is missing or corrupt is refused whole", "[kernels][routing]") {
  Sandbox sandbox;
  const fs::path bad = sandbox.folder() / "bad.json";
  CHECK_THROWS_AS(find_thresholds(bad.string(), cpu()), InputError);
  std::ofstream(bad) << "{\"schema_version\": 1, ";
  CHECK_THROWS_AS(find_thresholds(bad.string(), cpu()), InputError);
  std::ofstream(bad) << "{\"schema_version\": 99}";
  CHECK_THROWS_AS(find_thresholds(bad.string(), cpu()), InputError);
  sandbox.set("NSATUNE_THRESHOLDS", bad);
  CHECK_THROWS_AS(find_thresholds({}, cpu()), InputError);
  CHECK_THROWS_AS(find_thresholds(sandbox.folder().string(), cpu()), InputError);
}

TEST_CASE("of a bundle of 100 devices only this device's file is parsed", "[kernels][routing]") {
  Sandbox sandbox;
  const fs::path bundle = sandbox.folder() / "bundle";
  const Device here = gpu("NVIDIA H200", 90, 132);
  for (int i = 0; i < 99; ++i) {
    // Not even JSON: reading one of them whole would throw.
    fs::create_directories(bundle);
    std::ofstream(bundle / ("other_" + std::to_string(i) + ".json")) << "{ rubbish";
  }
  write(bundle / "nvidia_h200.json", always(here, "packed"));
  const auto found = find_thresholds(bundle.string(), here);
  REQUIRE(found);
  CHECK(found->path == (bundle / "nvidia_h200.json").string());
}

TEST_CASE("a bundle without this device gives the nearest one of the same back end",
          "[kernels][routing]") {
  Sandbox sandbox;
  const fs::path bundle = sandbox.folder() / "bundle";
  for (const Device& d : {gpu("NVIDIA H100", 90, 114), gpu("NVIDIA H100 SXM", 90, 130),
                          gpu("NVIDIA A100", 80, 132), cpu()}) {
    write(bundle / device_file_name(d), always(d, "packed"));
  }
  const auto found = find_thresholds(bundle.string(), gpu("NVIDIA H200", 90, 132));
  REQUIRE(found);
  CHECK(found->table.device.name == "NVIDIA H100 SXM");
  fs::remove(bundle / device_file_name(cpu()));
  CHECK_THROWS_AS(find_thresholds(bundle.string(), cpu()), InputError);
}

TEST_CASE("file names are made of the device's name", "[kernels][routing]") {
  CHECK(device_file_name(gpu("NVIDIA H200", 90, 132)) == "nvidia_h200.json");
  CHECK(device_file_name(cpu("AMD EPYC(TM) 9B14, 2 cores")) == "amd_epyc_tm_9b14_2_cores.json");
  CHECK(device_file_name(cpu("../../etc/passwd")) == "etc_passwd.json");
  Device slice = gpu("NVIDIA H200", 90, 16);
  slice.mig = true;
  CHECK(device_file_name(slice) == "nvidia_h200_mig_16sm.json");
}

TEST_CASE("shipped tables come from the folder that is named", "[kernels][routing]") {
  Sandbox sandbox;
  const Device here = cpu();
  sandbox.set("NSATUNE_SHIPPED", sandbox.folder());
  CHECK(!shipped_thresholds(here));
  write(sandbox.folder() / device_file_name(here), always(here, "packed"));
  REQUIRE(shipped_thresholds(here));
  CHECK(shipped_thresholds(here)->table.device == here);
}
