#include "process/marked.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace nsa::tuner {
namespace {

/// As the kernel writes it into the buffer of getdents64.
struct DirectoryEntry {
  std::uint64_t inode;
  std::int64_t next;
  unsigned short bytes;
  unsigned char type;
  char name[1];
};

/// The number that a folder of /proc is named after; 0 for other names.
pid_t pid_of(const char* name) {
  pid_t pid = 0;
  for (; *name; ++name) {
    if (*name < '0' || *name > '9') return 0;
    pid = pid * 10 + (*name - '0');
  }
  return pid;
}

/// Whether `entry` stands in the environment that is read from `file`, between zero bytes.
bool holds(int file, const char* entry) {
  char buffer[4096];
  const std::size_t length = std::strlen(entry);
  std::size_t matched = 0;
  bool at_start = true;  // of an entry, as far as it matches
  for (ssize_t got; (got = read(file, buffer, sizeof buffer)) > 0;) {
    for (ssize_t i = 0; i < got; ++i) {
      const char c = buffer[i];
      if (c == '\0') {
        if (at_start && matched == length) return true;
        at_start = true;
        matched = 0;
      } else {
        at_start = at_start && matched < length && entry[matched] == c;
        ++matched;
      }
    }
  }
  return at_start && matched == length;
}

bool kill_if_marked(int proc, const char* name, const char* entry) {
  const pid_t pid = pid_of(name);
  if (pid <= 1 || pid == getpid()) return false;
  constexpr char kEnviron[] = "/environ";
  char path[64];
  const std::size_t length = std::strlen(name);
  if (length > sizeof path - sizeof kEnviron) return false;
  std::copy_n(kEnviron, sizeof kEnviron, std::copy_n(name, length, path));
  const int file = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;  // of another user, or gone
  const bool marked = holds(file, entry);
  close(file);
  return marked && kill(pid, SIGKILL) == 0;
}

/// How many were killed.
int kill_once(const char* entry) {
  const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return 0;
  int killed = 0;
  alignas(DirectoryEntry) char buffer[8192];
  for (long got; (got = syscall(SYS_getdents64, proc, buffer, sizeof buffer)) > 0;) {
    for (long at = 0; at < got;) {
      const auto* one = reinterpret_cast<const DirectoryEntry*>(buffer + at);
      if (std::strlen(one->name) < 16) killed += kill_if_marked(proc, one->name, entry) ? 1 : 0;
      at += one->bytes;
    }
  }
  close(proc);
  return killed;
}

}  // namespace

void kill_marked(const char* entry) noexcept {
  constexpr int kMostRounds = 100;  // of a process that starts others faster than we find them
  for (int round = 0; round < kMostRounds && kill_once(entry) > 0; ++round) {
  }
}

}  // namespace nsa::tuner
