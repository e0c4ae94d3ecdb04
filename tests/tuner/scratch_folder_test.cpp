#include "pool/workers/scratch_folder.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"

using namespace nsa::tuner;

namespace {

namespace fs = std::filesystem;

/// $TMPDIR is a folder of this test's own.
struct OwnTemporaryFolder {
  OwnTemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "scratch_test_XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()));
    path = pattern;
    setenv("TMPDIR", path.c_str(), 1);
  }
  ~OwnTemporaryFolder() {
    before ? setenv("TMPDIR", before, 1) : unsetenv("TMPDIR");
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  const char* before = std::getenv("TMPDIR");
  fs::path path;
};

/// The folder of a sweep that is killed while a file of its lies there.
fs::path left_by_a_killed_process(const fs::path& parent) {
  const pid_t pid = fork();
  if (pid == 0) {
    ScratchFolder folder;
    std::ofstream(folder.path() + "/inputs.safetensors") << "many bytes";
    kill(getpid(), SIGKILL);
  }
  waitpid(pid, nullptr, 0);
  return fs::directory_iterator(parent)->path();
}

}  // namespace

TEST_CASE("what a killed sweep left is removed by the next one, what is in use stays", "[tuner]") {
  const OwnTemporaryFolder own;
  const fs::path left = left_by_a_killed_process(own.path);
  REQUIRE(fs::exists(left / "inputs.safetensors"));
  fs::create_directory(own.path / "nsatune-of-somebody");
  const ScratchFolder mine;
  CHECK_FALSE(fs::exists(left));
  const ScratchFolder other;
  CHECK(fs::exists(mine.path()));
  CHECK(mine.path() != other.path());
  CHECK(fs::exists(own.path / "nsatune-of-somebody"));
}

TEST_CASE("folders that are made at the same time are there, whoever looks for abandoned ones",
          "[tuner]") {
  const OwnTemporaryFolder own;
  std::atomic<int> missing = 0;
  std::vector<std::thread> sweeps;
  for (int i = 0; i < 8; ++i)
    sweeps.emplace_back([&] {
      for (int k = 0; k < 500; ++k) {
        const ScratchFolder folder;
        if (!fs::exists(folder.path())) ++missing;
      }
    });
  for (std::thread& sweep : sweeps) sweep.join();
  CHECK(missing == 0);
}
