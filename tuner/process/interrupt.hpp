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
  /// `budget_s` counts from now. `uncounted_s` grows by what it does not count; null: by nothing
  /// but what is left out here.
  Interrupt(const std::atomic<bool>* stop, std::optional<double> budget_s,
            std::atomic<double>* uncounted_s = nullptr)
      : stop_(stop),
        uncounted_s_(uncounted_s ? uncounted_s : &left_out_s_),
        grace_s_(budget_s ? std::max(kGraceS, 0.05 * *budget_s) : kGraceS) {
    // Of what does not count, only what comes from now on is added to the end.
    if (budget_s) budget_end_ = Clock::now() + nsa::tuner::seconds(*budget_s - uncounted());
  }

  bool stopped() const noexcept { return stop_ && stop_->load(); }
  bool budget_spent() const noexcept { return budget_end_ && left_s() <= 0; }
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
           (budget_end_ && -left_s() > grace_s_);
  }
  /// Seconds that the budget does not count.
  void leave_out(double seconds) noexcept { uncounted_s_->fetch_add(seconds); }
  /// Of the budget, below 0 when it is spent; only where there is one.
  double left_s() const noexcept { return uncounted() - seconds_since(*budget_end_); }

 private:
  double uncounted() const noexcept { return uncounted_s_->load(); }

  static constexpr double kGraceS = 2;
  const std::atomic<bool>* stop_ = nullptr;
  std::atomic<double> left_out_s_ = 0;
  std::atomic<double>* uncounted_s_ = &left_out_s_;
  std::optional<TimePoint> budget_end_;
  std::atomic<TimePoint> stop_seen_{TimePoint{}};  // by any of the threads that wait for a worker
  double grace_s_ = kGraceS;
};

}  // namespace nsa::tuner
