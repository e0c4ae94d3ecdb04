#include "worker/failure.hpp"

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace nsa::tuner {
namespace {

// A signal handler can reach nothing but globals.
std::array<char, 251> g_doing{};

void write_text(const char* text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

void report(int) {
  const int error = errno;
  std::array<void*, 16> frames{};
  write_text(g_doing.data());
  write_text("\n");
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  constexpr int kOwnFrames = 2;  // this function and the kernel's trampoline
  if (count > kOwnFrames)
    backtrace_symbols_fd(frames.data() + kOwnFrames, count - kOwnFrames, STDERR_FILENO);
  errno = error;
}

}  // namespace

void set_beacon(std::string_view doing) noexcept {
  const std::size_t length = std::min(doing.size(), g_doing.size() - 1);
  std::memcpy(g_doing.data(), doing.data(), length);
  g_doing[length] = '\0';
}

void install_beacon() {
  void* warm_up[1];
  backtrace(warm_up, 1);  // loads what it needs now, not inside the handler
  struct sigaction action {};
  action.sa_handler = report;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace nsa::tuner
