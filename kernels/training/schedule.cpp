#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "nsa/kernels/training.hpp"

namespace nsa::training {
namespace {

constexpr std::array<std::string_view, 3> kSchedules{"constant", "linear", "cosine"};

}  // namespace

std::string_view to_string(RateSchedule schedule) noexcept {
  return kSchedules[static_cast<std::size_t>(schedule)];
}

std::optional<RateSchedule> schedule_from_string(std::string_view name) noexcept {
  const auto at = std::ranges::find(kSchedules, name);
  if (at == kSchedules.end()) return std::nullopt;
  return static_cast<RateSchedule>(at - kSchedules.begin());
}

std::string_view to_string(StepPhase phase) noexcept {
  constexpr std::array<std::string_view, 4> kPhases{"forward", "recompute", "backward",
                                                    "optimizer"};
  return kPhases[static_cast<std::size_t>(phase)];
}

double rate_of(const LearningRate& rate, std::int64_t step) noexcept {
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  if (step < rate.warmup_steps) return rate.peak * number(step + 1) / number(rate.warmup_steps);
  if (rate.schedule == RateSchedule::constant) return rate.peak;
  const std::int64_t length = std::max<std::int64_t>(1, rate.total_steps - rate.warmup_steps);
  const double progress = std::clamp(number(step - rate.warmup_steps) / number(length), 0.0, 1.0);
  if (rate.schedule == RateSchedule::linear) return rate.peak * (1 - progress);
  return rate.peak * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

}  // namespace nsa::training
