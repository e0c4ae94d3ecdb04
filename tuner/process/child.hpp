// A child process in its own group, with bounded pipes: what it prints can neither block us nor
// fill our memory, and it never outlives us.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/probes/injection.hpp"
#include "process/watchdog.hpp"

namespace nsa::tuner {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

inline double seconds_since(TimePoint start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
inline Clock::duration seconds(double s) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

inline constexpr std::size_t kMaxLineBytes = 4u << 20;     // of stdout without a newline
inline constexpr std::size_t kStderrTailBytes = 4u << 10;  // of stderr that is kept

/// A file descriptor that is closed once.
class Fd {
 public:
  explicit Fd(int fd = -1) noexcept : fd_(fd) {}
  ~Fd() { reset(); }
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  int get() const noexcept { return fd_; }
  int release() noexcept {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1) noexcept;

 private:
  int fd_;
};

class Child {
 public:
  /// Starts argv[0], found on PATH. The child gets no core dump, is killed with us, and may hold at
  /// most `memory_limit_bytes` of private memory; `environment`: variables beside ours.
  /// EnvironmentError when it cannot be started.
  Child(const std::vector<std::string>& argv, std::optional<std::uint64_t> memory_limit_bytes,
        const probes::Variables& environment = {});
  ~Child();  // kills the group and reaps the child
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  enum class Event : std::uint8_t { line, end, too_long, deadline };
  /// Sends `line` and a newline in the background of the next receive().
  void send(const std::string& line);
  /// Waits for the next line of stdout. `end`: stdout was closed.
  Event receive(std::string& line, TimePoint deadline);
  /// For so long a receive() does not sleep.
  void stay_awake(std::chrono::nanoseconds busy) noexcept { busy_ = busy; }
  /// Closes its stdin, so that a good worker exits.
  void close_input();
  /// How it ended ("exit code 3", "signal 11 (Segmentation fault)"), or nothing when it still runs
  /// at the deadline.
  std::optional<std::string> wait(TimePoint deadline);
  /// Its group, and what it started and what left the group.
  void kill_group() noexcept;
  /// The tail of what stderr printed since the last call, until the deadline.
  std::string take_errors(TimePoint deadline);
  pid_t pid() const noexcept { return pid_; }

 private:
  void pump(TimePoint deadline, bool errors_only);
  void write_some();
  void read_output();
  void read_errors();
  void drain_errors(TimePoint deadline);
  bool take_line(std::string& line);

  std::string mark_;  // of all that it starts: see kill_marked
  pid_t pid_ = -1;
  std::optional<Watchdog> watchdog_;
  Fd in_, out_, err_;
  std::chrono::nanoseconds busy_{0};
  std::string to_send_, received_, errors_;
  std::size_t scanned_ = 0;      // bytes of received_ that hold no newline
  std::size_t errors_read_ = 0;  // bytes of stderr so far
  std::optional<std::string> ended_;
};

/// One line: state, kernel wait channel and kernel stack of each process of the group, and the host
/// backtrace of those that answer SIGUSR1 with one (ours do, and Python's faulthandler can).
std::string hang_report(Child& child);

}  // namespace nsa::tuner
