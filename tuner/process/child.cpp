#include "process/child.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "nsa/schemas/json.hpp"
#include "process/busy_poll.hpp"
#include "process/marked.hpp"
#include "process/spawn.hpp"

namespace nsa::tuner {
namespace {

/// Writes without a SIGPIPE for the program: blocks it in this thread and takes it off again.
ssize_t write_quietly(int fd, const std::string& bytes) {
  sigset_t pipe_signal, before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t written = write(fd, bytes.data(), bytes.size());
  const int error = errno;
  if (written < 0 && error == EPIPE) {
    const timespec now{0, 0};
    sigtimedwait(&pipe_signal, nullptr, &now);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

int milliseconds_until(TimePoint deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 60'000));
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    const char* hint = number == SIGKILL ? ", perhaps by the kernel's out-of-memory killer" : "";
    return fmt::format("signal {} ({}{})", number, strsignal(number), hint);
  }
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

void Fd::reset(int fd) noexcept {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

Child::Child(const std::vector<std::string>& argv, std::optional<std::uint64_t> memory_limit_bytes,
             const probes::Variables& environment) {
  const std::string id = make_uuid();
  mark_ = std::string(kWorkerMark) + "=" + id;
  probes::Variables variables = environment;
  variables.emplace_back(kWorkerMark, id);
  Spawned spawned = spawn(argv, memory_limit_bytes, variables);
  pid_ = spawned.pid;
  watchdog_.emplace(pid_, mark_);
  in_ = std::move(spawned.in);
  out_ = std::move(spawned.out);
  err_ = std::move(spawned.err);
}

Child::~Child() {
  kill_group();
  watchdog_.reset();  // before the number of the group is free for others
  if (!ended_) waitpid(pid_, nullptr, 0);
}

void Child::send(const std::string& line) {
  to_send_ += line;
  to_send_ += '\n';
}

Child::Event Child::receive(std::string& line, TimePoint deadline) {
  while (true) {
    if (take_line(line)) return Event::line;
    if (received_.size() >= kMaxLineBytes) return Event::too_long;
    if (out_.get() < 0) return Event::end;
    if (Clock::now() >= deadline) return Event::deadline;
    pump(deadline, false);
  }
}

bool Child::take_line(std::string& line) {
  const std::size_t newline = received_.find('\n', scanned_);
  if (newline == std::string::npos) {
    scanned_ = received_.size();
    return false;
  }
  line.assign(received_, 0, newline);
  received_.erase(0, newline + 1);
  scanned_ = 0;
  return true;
}

void Child::pump(TimePoint deadline, bool errors_only) {
  std::array<pollfd, 3> fds{};
  fds[0] = {err_.get(), POLLIN, 0};
  fds[1] = {errors_only ? -1 : out_.get(), POLLIN, 0};
  fds[2] = {errors_only || to_send_.empty() ? -1 : in_.get(), POLLOUT, 0};
  if (busy_poll(fds, milliseconds_until(deadline), busy_) <= 0) return;
  if (fds[0].revents) read_errors();
  if (fds[1].revents) read_output();
  if (fds[2].revents) write_some();
}

void Child::write_some() {
  const ssize_t written = write_quietly(in_.get(), to_send_);
  if (written > 0) {
    to_send_.erase(0, static_cast<std::size_t>(written));
  } else if (written < 0 && errno != EAGAIN && errno != EINTR) {
    to_send_.clear();  // nobody reads any more; its stdout will say how it ended
    in_.reset();
  }
}

void Child::read_output() {
  std::array<char, 64 << 10> buffer;
  const ssize_t got = read(out_.get(), buffer.data(), buffer.size());
  if (got > 0) received_.append(buffer.data(), static_cast<std::size_t>(got));
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) out_.reset();
}

void Child::read_errors() {
  std::array<char, 16 << 10> buffer;
  const ssize_t got = read(err_.get(), buffer.data(), buffer.size());
  if (got > 0) {
    errors_.append(buffer.data(), static_cast<std::size_t>(got));
    errors_read_ += static_cast<std::size_t>(got);
  }
  if (errors_.size() > kStderrTailBytes) errors_.erase(0, errors_.size() - kStderrTailBytes);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) err_.reset();
}

std::string Child::take_errors(TimePoint deadline) {
  drain_errors(deadline);
  return std::exchange(errors_, {});
}

void Child::close_input() {
  to_send_.clear();
  in_.reset();
}

std::optional<std::string> Child::wait(TimePoint deadline) {
  auto pause = std::chrono::microseconds(100);
  while (!ended_) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      ended_ = describe_status(status);
    } else if (Clock::now() >= deadline) {
      return std::nullopt;
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min<std::chrono::microseconds>(pause * 2, std::chrono::milliseconds(10));
    }
  }
  return ended_;
}

void Child::kill_group() noexcept {
  ::kill(-pid_, SIGKILL);
  kill_marked(mark_.c_str());
}

void Child::drain_errors(TimePoint deadline) {
  while (err_.get() >= 0) {
    const std::size_t before = errors_read_;
    pump(deadline, true);
    if (errors_read_ == before && Clock::now() >= deadline) return;
  }
}

}  // namespace nsa::tuner
