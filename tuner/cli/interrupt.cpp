#include "interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <ctime>

namespace nsa::cli {
namespace {

/// One Ctrl-C may come twice: `timeout -s INT` and the like pass it on to their child and to its
/// whole process group. Nobody presses it again this soon.
constexpr long kSamePressMs = 250;

std::atomic<bool> stop{false};
std::atomic<long> first_ms{0};  // when the first signal came
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<long>::is_always_lock_free,
              "a signal handler may store to them");

long now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

void on_signal(int signal) {
  const long now = now_ms();
  long first = 0;
  if (first_ms.compare_exchange_strong(first, now))
    stop = true;
  else if (signal == SIGINT && now - first > kSamePressMs)
    _exit(130);
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // not under nohup
  return stop;
}

}  // namespace nsa::cli
