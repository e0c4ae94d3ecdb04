// Why a sweep ends early, and how long a running request is still waited for then.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>

#include "process/child.hpp"

namespace nsa::tuner {

class Interrupt {
 public:
  Interrupt() = default;
  /// `budget_s` counts from now.
  Interrupt(const std::atomic<bool>* stop, std::optional<double> budget_s)
      : stop_(stop), grace_s_(budget_s ? std::max(kGraceS, 0.05 * *budget_s) : kGraceS) {
    if (budget_s) budget_end_ = Clock::now() + nsa::tuner::seconds(*budget_s);
  }

  bool stopped() const noexcept { return stop_ && stop_->load(); }
  bool budget_spent() const noexcept { return budget_end_ && Clock::now() >= *budget_end_; }
  /// Nothing new is begun.
  bool requested() const noexcept { return stopped() || budget_spent(); }
  /// What is running is not waited for any longer.
  bool overdue() noexcept {
    if (stopped()) {
      TimePoint never{};
      stop_seen_.compare_exchange_strong(never, Clock::now());
    }
    const TimePoint seen = stop_seen_;
    return (seen != TimePoint{} && seconds_since(seen) > kGraceS) ||
           (budget_end_ && seconds_since(*budget_end_) > grace_s_);
  }

 private:
  static constexpr double kGraceS = 2;
  const std::atomic<bool>* stop_ = nullptr;
  std::optional<TimePoint> budget_end_;
  std::atomic<TimePoint> stop_seen_{TimePoint{}};  // by any of the threads that wait for a worker
  double grace_s_ = kGraceS;
};

}  // namespace nsa::tuner
