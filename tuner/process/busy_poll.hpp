// Waiting for a pipe without going to sleep at once.
#pragma once

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>

namespace nsa::tuner {

/// How long who waits for the next line of a GPU's worker, or for its next request, stays awake:
/// longer than most visits. To wake a process that sleeps takes up to .2 ms, about as long as the
/// visit of a short launch. Not where cores are few.
inline std::chrono::nanoseconds busy_wait() {
  constexpr unsigned kLeastCores = 4;
  return std::thread::hardware_concurrency() < kLeastCores ? std::chrono::milliseconds(0)
                                                           : std::chrono::milliseconds(2);
}

/// poll(), which for `busy` of its time asks again and again and keeps a core. `timeout_ms` below
/// 0: without an end.
inline int busy_poll(std::span<pollfd> fds, int timeout_ms, std::chrono::nanoseconds busy) {
  using std::chrono::steady_clock;
  if (busy.count() > 0) {
    if (timeout_ms >= 0)
      busy = std::min<std::chrono::nanoseconds>(busy, std::chrono::milliseconds(timeout_ms));
    const auto end = steady_clock::now() + busy;
    do {
      if (const int ready = poll(fds.data(), fds.size(), 0); ready != 0) return ready;
    } while (steady_clock::now() < end);
  }
  return poll(fds.data(), fds.size(), timeout_ms);
}

}  // namespace nsa::tuner
