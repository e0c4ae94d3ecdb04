// How much memory a CPU worker may have.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>

#include "process/worker_client.hpp"

namespace nsa::tuner {
namespace {

std::uint64_t physical_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return 0;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

/// The limit of the container, or 0: the file says "max" where there is none.
std::uint64_t container_bytes() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : 0;
}

/// Address space of this process. A sanitizer's shadow takes terabytes, and would in the worker
/// too.
std::uint64_t address_space_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::optional<std::uint64_t> worker_memory_limit(const WorkerCommand& command, const Device& device,
                                                 std::size_t workers) {
  if (command.memory_bytes) return command.memory_bytes;
  constexpr std::uint64_t kTebibyte = std::uint64_t{1} << 40;
  std::uint64_t bytes = physical_bytes();
  if (const std::uint64_t container = container_bytes()) bytes = std::min(bytes, container);
  if (device.backend != Backend::cpu || bytes == 0 || address_space_bytes() > kTebibyte)
    return std::nullopt;
  return bytes / 5 * 4 / std::max<std::size_t>(workers, 1);
}

}  // namespace nsa::tuner
