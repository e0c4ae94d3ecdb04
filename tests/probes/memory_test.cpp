// What the machine and its cgroups say of free memory, by files that are made up.
#include "cpu/memory.hpp"

#include <filesystem>
#include <fstream>

#include "catch.hpp"

namespace nsa::test {
namespace {

using probes::available_memory_bytes;

/// A machine with 1,000 kB available, and the files that a test adds.
class Machine {
 public:
  Machine() {
    std::string name = (std::filesystem::temp_directory_path() / "nsa_memory_XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    root_ = name;
    write("/proc/meminfo",
          "MemTotal:        4000 kB\nMemFree:          100 kB\nMemAvailable:    1000 kB\n");
  }
  ~Machine() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + file).parent_path());
    std::ofstream(root_ + file) << text;
  }
  std::optional<std::int64_t> available() const { return available_memory_bytes(root_); }

 private:
  std::string root_;
};

constexpr std::int64_t kAll = 1000 * 1024;

}  // namespace

TEST_CASE("page cache is no memory that is used", "[probes]") {
  const Machine machine;
  CHECK(machine.available() == kAll);
  machine.write("/proc/meminfo", "MemTotal: 4000 kB\nMemFree: 100 kB\n");  // an old kernel
  CHECK_FALSE(machine.available());
}

TEST_CASE("a cgroup of version 2 leaves what its limit does, without its page cache", "[probes]") {
  const Machine machine;
  machine.write("/proc/self/cgroup", "0::/jobs/mine\n");
  machine.write("/sys/fs/cgroup/jobs/mine/memory.max", "max\n");
  machine.write("/sys/fs/cgroup/jobs/mine/memory.current", "90000\n");
  CHECK(machine.available() == kAll);
  machine.write("/sys/fs/cgroup/jobs/memory.max", "100000\n");
  machine.write("/sys/fs/cgroup/jobs/memory.current", "95000\n");
  CHECK(machine.available() == 5000);
  machine.write("/sys/fs/cgroup/jobs/memory.stat",
                "anon 60000\nfile 35000\ninactive_file 20000\nactive_file 10000\n");
  CHECK(machine.available() == 35000);
}

TEST_CASE("a cgroup of version 1 counts, also where only its container sees it", "[probes]") {
  const Machine machine;
  machine.write("/proc/self/cgroup", "8:pids:/a\n4:cpu,memory:/docker/0123\n0::/\n");
  machine.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "100000\n");
  machine.write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "80000\n");
  machine.write("/sys/fs/cgroup/memory/memory.stat",
                "inactive_file 1\ntotal_inactive_file 5000\ntotal_active_file 2000\n");
  CHECK(machine.available() == 27000);
  machine.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(machine.available() == kAll);
}

}  // namespace nsa::test
