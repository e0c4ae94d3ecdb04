#include "pool/contestant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nsa::tuner {

void Contestant::add_visit(const Block& block, const Measurement& row) {
  if (!row.median_ns || !visits.emplace(block, *row.median_ns).second) return;
  visit_ns.push_back(*row.median_ns);
  median_of_visits = median(visit_ns);
  least_ns = std::min(least_ns, *row.median_ns);
  for (const Sample& sample : row.samples)
    least_ns = std::min(least_ns, static_cast<double>(sample.device_ns));
}

void Contestant::add_noisy(const Block& block, const Measurement& row) {
  noisy.insert(block);
  if (row.median_ns) least_noisy_ns = std::min(least_noisy_ns, *row.median_ns);
}

Contestant control_of(const Contestant& original) {
  Contestant control;
  control.candidate = original.candidate;
  control.described = original.described;
  control.subject = original.subject;
  control.control = true;
  control.out = original.out;
  return control;
}

std::optional<double> best_median_ns(const std::vector<Contestant>& contestants) {
  std::optional<double> best;
  for (const Contestant& contestant : contestants) {
    if (contestant.out || contestant.control || !contestant.visited()) continue;
    best = std::min(best.value_or(contestant.median_ns()), contestant.median_ns());
  }
  return best;
}

bool given_up(const Contestant& contestant, const std::vector<Contestant>& contestants,
              const MeasurePolicy& policy) {
  constexpr double kMostNoise = 4;  // a throttled GPU has a quarter of its clock left
  const auto best = best_median_ns(contestants);
  if (!best) return false;
  const double limit = policy.give_up_ratio * *best;
  const double noisy_ns = contestant.least_noisy_ns / kMostNoise;
  const double least_ns = std::min(contestant.least_ns, noisy_ns);
  std::size_t visits = contestant.visit_ns.size();
  if (noisy_ns > limit) visits += contestant.noisy.size();
  const bool dear = 1e-9 * least_ns > policy.visit_target_s;
  return (visits >= 2 || (dear && visits == 1)) && contestant.least_ns > limit;
}

std::string why_given_up(const Contestant& contestant, const std::vector<Contestant>& contestants) {
  const double least_ns = std::min(contestant.least_ns, contestant.least_noisy_ns);
  const double best_ns = best_median_ns(contestants).value_or(least_ns);
  return fmt::format("given up: {:.3g} times slower than the best", least_ns / best_ns);
}

ContestState state_of(const std::vector<Contestant>& contestants, const MeasurePolicy& policy,
                      const Block& before) {
  std::vector<const Contestant*> alive;
  for (const Contestant& contestant : contestants) {
    if (!contestant.out && !contestant.control && contestant.visited() &&
        !given_up(contestant, contestants, policy))
      alive.push_back(&contestant);
  }
  std::stable_sort(alive.begin(), alive.end(), [](const Contestant* a, const Contestant* b) {
    return a->median_ns() < b->median_ns();
  });
  ContestState state;
  for (const Contestant* contestant : alive) {
    auto& ratios = state.log_ratios.emplace_back();
    auto& blocks = state.blocks.emplace_back();
    for (const auto& [block, median] : contestant->visits) {
      if (!(block < before)) break;
      const auto reference = alive.front()->visits.find(block);
      if (reference == alive.front()->visits.end()) continue;
      ratios.push_back(std::log(median / reference->second));
      // Both halves of a round are one block of the bootstrap.
      blocks.push_back(std::get<0>(block) * 100'000 + std::get<1>(block));
    }
  }
  return state;
}

}  // namespace nsa::tuner
