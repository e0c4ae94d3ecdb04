// Who holds a lock of a file, as the kernel says.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace nsa::tuner {

struct LockHolder {
  long pid = 0;
  std::string command;  // as it was typed, on one line; empty where it cannot be read
};

/// The kinds of locks in /proc/locks: of flock(), and of fcntl(), which SQLite uses.
enum class LockKind : bool { flock, posix };

/// Another process that has such a lock of the file with this inode, to write. Nothing where nobody
/// has, or where the kernel does not tell: a process outside of this container.
std::optional<LockHolder> find_lock_holder(ino_t inode, LockKind kind);
/// "process 4711 (nsatune sweep default)", or "another process" where nobody knows which.
std::string describe(const std::optional<LockHolder>& holder);

}  // namespace nsa::tuner
