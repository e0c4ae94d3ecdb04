// Commands that measure wait for each other on a device, and say for whom.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

constexpr const char* kRun = "run --preset tiny --layers 1 --seq-len 64 --steps 1 --no-thresholds";

/// This process measures on the CPU, as a sweep would say it: by the lock of the folder.
class Holder {
 public:
  explicit Holder(const Folder& folder) {
    const Json devices = json_of(nsatune(folder, "devices --json"), "devices");
    const std::string uuid = devices["devices"][0]["uuid"];
    file_ = open(folder.file("nsatune-" + uuid + ".lock").c_str(), O_RDONLY | O_CREAT | O_CLOEXEC,
                 0644);
    REQUIRE(file_ >= 0);
    REQUIRE(flock(file_, LOCK_EX | LOCK_NB) == 0);
  }
  ~Holder() { leave(); }
  void leave() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

 private:
  int file_ = -1;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("run waits for who measures on the device, and names the process", "[cli]") {
  const Folder folder;
  Holder holder(folder);
  Result waited;
  std::thread run([&] { waited = nsatune(folder, std::string(kRun) + " --no-db"); });
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (text_of(folder.file("stderr")).find("waiting: ") == std::string::npos &&
         std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const bool nothing_yet = text_of(folder.file("stdout")).empty();
  holder.leave();
  run.join();
  INFO(waited.err);
  CHECK(nothing_yet);
  CHECK(waited.exit_code == 0);
  CHECK(waited.err.find("waiting: process " + std::to_string(getpid()) + " (") !=
        std::string::npos);
  CHECK(waited.err.find(") measures on cpu; --share does not wait") != std::string::npos);
}

TEST_CASE("a command with --share waits for nobody", "[cli]") {
  const Folder folder;
  const Holder holder(folder);
  const Result run = nsatune(folder, std::string(kRun) + " --no-db --share");
  CHECK(run.exit_code == 0);
  CHECK(run.err.find("waiting") == std::string::npos);
  const Result sweep =
      nsatune(folder, "sweep quick --axis seq_len=64 --stage ranges --share --json --accept-noise");
  INFO(sweep.err);
  CHECK(sweep.exit_code == 0);
  CHECK(json_of(sweep, "sweep_result")["complete"] == true);
}

TEST_CASE("a worker in virtual time waits for nobody", "[cli]") {
  const Folder folder;
  const Holder holder(folder);
  folder.write("world.json", R"({"schema_version": 1, "seed": 5, "executor": "sim",
    "stages": ["ranges"], "variants": [{"name": "line", "time": {"launch_ns": 10000, "terms": [{"ns": 1, "order": 1}]}}]})");
  const Result sweep = nsatune(folder,
                               "sweep quick --axis seq_len=64 --stage ranges --json --budget 60s "
                               "--worker '" NSATUNE_PROGRAM " worker-sim " +
                                   folder.file("world.json") + "'");
  INFO(sweep.err);
  CHECK(sweep.exit_code == 0);
  const Json done = json_of(sweep, "sweep_result");
  CHECK(done["complete"] == true);
  CHECK(done["time_breakdown"]["wait_s"].get<double>() < 5);
}

}  // namespace nsa::test
