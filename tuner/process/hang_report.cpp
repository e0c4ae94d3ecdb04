#include "process/child.hpp"

#include <cxxabi.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

namespace nsa::tuner {
namespace {

constexpr std::size_t kMaxFrames = 12;
constexpr double kAnswerS = 0.3;  // how long a backtrace is waited for

std::string read_proc(pid_t pid, const char* name) {
  std::ifstream file(fmt::format("/proc/{}/{}", pid, name));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Third and fifth field of /proc/PID/stat, after the name in parentheses.
bool in_group(pid_t pid, pid_t group) {
  const std::string stat = read_proc(pid, "stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream fields(stat.substr(name_end + 1));
  char state = 0;
  pid_t parent = 0, pgrp = 0;
  return fields >> state >> parent >> pgrp && pgrp == group;
}

std::vector<pid_t> members_of(pid_t group) {
  std::vector<pid_t> members;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc{} && end == name.data() + name.size() && in_group(pid, group))
      members.push_back(pid);
  }
  return members;
}

std::string status_field(const std::string& status, const std::string& key) {
  std::istringstream lines(status);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(key + ":\t", 0) == 0) return line.substr(key.size() + 2);
  }
  return {};
}

/// "futex_wait < do_futex": the names of /proc/PID/stack, which only root may read.
std::string kernel_stack(pid_t pid) {
  std::istringstream lines(read_proc(pid, "stack"));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line) && names.size() < kMaxFrames;) {
    const std::size_t begin = line.find("] "), end = line.find('+');
    if (begin != std::string::npos && end != std::string::npos && end > begin + 2)
      names.push_back(line.substr(begin + 2, end - begin - 2));
  }
  return fmt::format("{}", fmt::join(names, " < "));
}

bool catches_usr1(const std::string& status) {
  const std::string mask = status_field(status, "SigCgt");
  return (std::strtoull(mask.c_str(), nullptr, 16) >> (SIGUSR1 - 1)) & 1u;
}

std::string process_line(pid_t pid) {
  const std::string status = read_proc(pid, "status");
  std::string line = fmt::format("pid {} {}, state {}", pid, status_field(status, "Name"),
                                 status_field(status, "State"));
  const std::string channel = read_proc(pid, "wchan");
  if (!channel.empty() && channel != "0") line += ", waits in " + channel;
  const std::string stack = kernel_stack(pid);
  if (!stack.empty()) line += ", kernel stack " + stack;
  if (catches_usr1(status)) syscall(SYS_tgkill, pid, pid, SIGUSR1);
  return line;
}

std::string demangled(const std::string& symbol) {
  int failure = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &failure), &std::free);
  return failure == 0 && name ? std::string(name.get()) : symbol;
}

/// "path(symbol+0x12) [0x...]" as its symbol, "path(+0x12) [0x...]" as its file and offset; other
/// lines stay. By hand: a worker may print anything, and std::regex takes minutes for 4 KB of
/// parentheses.
std::string readable_line(const std::string& line) {
  const std::size_t close = line.rfind(") [0x");
  const std::size_t open = close == std::string::npos ? close : line.rfind('(', close);
  if (open == std::string::npos || line.find(' ') < open) return line;
  const std::string inside = line.substr(open + 1, close - open - 1);
  const std::string symbol = inside.substr(0, inside.find('+'));
  if (!symbol.empty()) return demangled(symbol);
  const std::string path = line.substr(0, open);
  return path.substr(path.rfind('/') + 1) + inside;
}

std::string readable(const std::string& answer) {
  std::istringstream lines(answer);
  std::vector<std::string> parts;
  for (std::string line; std::getline(lines, line) && parts.size() < 2 * kMaxFrames;) {
    if (!line.empty()) parts.push_back(readable_line(line));
  }
  return fmt::format("{}", fmt::join(parts, " < "));
}

}  // namespace

std::string hang_report(Child& child) {
  const std::string before = child.take_errors(Clock::now());
  std::vector<std::string> parts;
  for (const pid_t pid : members_of(child.pid())) parts.push_back(process_line(pid));
  const std::string answer = child.take_errors(Clock::now() + seconds(kAnswerS));
  if (!answer.empty()) parts.push_back("host stack: " + readable(answer));
  if (!before.empty()) parts.push_back("last words: " + before);
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace nsa::tuner
