#include "nsa/tuner/lock_holder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "process/worker_client.hpp"

namespace nsa::tuner {
namespace {

std::string command_of(long pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::string command{std::istreambuf_iterator<char>(file), {}};
  while (command.ends_with('\0')) command.pop_back();
  for (char& c : command) {
    if (c == '\0') c = ' ';
  }
  constexpr std::size_t kMost = 120;
  if (command.size() > kMost) command = command.substr(0, kMost) + "...";
  return one_line(std::move(command));
}

}  // namespace

/// /proc/locks has lines like "3: FLOCK  ADVISORY  WRITE 4711 08:01:123456 0 EOF". Devices are not
/// compared: those of layered file systems differ from what stat says.
std::optional<LockHolder> find_lock_holder(ino_t inode, LockKind kind) {
  const std::string tail = ":" + std::to_string(inode);
  const std::string word = kind == LockKind::flock ? "FLOCK" : "POSIX";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, found, mode, access, file;
    long pid = 0;  // none on the line of who waits, which has an arrow before its kind
    words >> number >> found >> mode >> access >> pid >> file;
    if (found == word && access == "WRITE" && file.ends_with(tail) && pid > 0 && pid != getpid())
      return LockHolder{pid, command_of(pid)};
  }
  return std::nullopt;
}

std::string describe(const std::optional<LockHolder>& holder) {
  if (!holder) return "another process";
  const std::string process = fmt::format("process {}", holder->pid);
  return holder->command.empty() ? process : process + " (" + holder->command + ")";
}

}  // namespace nsa::tuner
