#include "pool/contestant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "nsa/schemas/executor.hpp"

namespace nsa::tuner {

void Contestant::add_visit(const Block& block, const Measurement& row) {
  if (!row.median_ns || find_visit(block)) return;
  const auto place = std::ranges::upper_bound(visits, block, {}, &TimedVisit::block);
  visits.insert(place, {block, *row.median_ns, std::log(*row.median_ns)});
  std::vector<double> medians;
  for (const TimedVisit& visit : visits) medians.push_back(visit.ns);
  median_of_visits = median(std::move(medians));
  least_ns = std::min(least_ns, *row.median_ns);
  for (const Sample& sample : row.samples)
    least_ns = std::min(least_ns, static_cast<double>(sample.device_ns));
}

const TimedVisit* Contestant::find_visit(const Block& block) const {
  const auto found = std::ranges::lower_bound(visits, block, {}, &TimedVisit::block);
  return found != visits.end() && found->block == block ? &*found : nullptr;
}

void Contestant::add_noisy(const Block& block, const Measurement& row) {
  noisy.insert(block);
  if (row.median_ns) least_noisy_ns = std::min(least_noisy_ns, *row.median_ns);
}

const Variant* row_of(const Candidate& candidate, Backend backend) {
  if (candidate.executor != kOwnExecutor) return nullptr;
  return find_variant(candidate.id, backend, candidate.direction);
}

bool better(const Contestant& a, const Contestant& b) noexcept {
  return a.eligible != b.eligible ? a.eligible : a.median_ns() < b.median_ns();
}

bool same_variant(const Contestant& a, const Contestant& b) noexcept {
  return a.candidate.id == b.candidate.id && a.candidate.executor == b.candidate.executor;
}

Contestant control_of(const Contestant& original) {
  Contestant control;
  control.candidate = original.candidate;
  control.described = original.described;
  control.subject = original.subject;
  control.control = true;
  control.eligible = original.eligible;
  control.out = original.out;
  return control;
}

std::optional<double> best_median_ns(const std::vector<Contestant>& contestants) {
  const Contestant* best = nullptr;
  for (const Contestant& contestant : contestants) {
    if (contestant.out || contestant.control || !contestant.visited()) continue;
    if (!best || better(contestant, *best)) best = &contestant;
  }
  return best ? std::optional(best->median_ns()) : std::nullopt;
}

bool given_up(const Contestant& contestant, const std::vector<Contestant>& contestants,
              const MeasurePolicy& policy) {
  constexpr double kMostNoise = 4;  // a throttled GPU has a quarter of its clock left
  const auto best = best_median_ns(contestants);
  if (!best) return false;
  const double limit = policy.give_up_ratio * *best;
  const double noisy_ns = contestant.least_noisy_ns / kMostNoise;
  const double least_ns = std::min(contestant.least_ns, noisy_ns);
  std::size_t visits = contestant.visits.size();
  if (noisy_ns > limit) visits += contestant.noisy.size();
  const bool dear = 1e-9 * least_ns > policy.visit_target_s;
  return (visits >= 2 || (dear && visits == 1)) && contestant.least_ns > limit;
}

std::string why_given_up(const Contestant& contestant, const std::vector<Contestant>& contestants) {
  const double least_ns = std::min(contestant.least_ns, contestant.least_noisy_ns);
  const double best_ns = best_median_ns(contestants).value_or(least_ns);
  return fmt::format("given up: {:.3g} times slower than the best", least_ns / best_ns);
}

namespace {

/// Those that still compete in the process, the best first.
std::vector<const Contestant*> competing(const std::vector<Contestant>& contestants,
                                         const MeasurePolicy& policy, std::int64_t process) {
  std::vector<const Contestant*> alive;
  for (const Contestant& contestant : contestants) {
    if (!contestant.out && !contestant.control && contestant.visited() &&
        !contestant.beaten.contains(process) && !given_up(contestant, contestants, policy))
      alive.push_back(&contestant);
  }
  std::stable_sort(alive.begin(), alive.end(),
                   [](const Contestant* a, const Contestant* b) { return better(*a, *b); });
  return alive;
}

/// Those of them that may be chosen, and `with`; all where the best may not.
std::vector<const Contestant*> choosable(std::vector<const Contestant*> alive,
                                         const Contestant* with = nullptr) {
  if (!alive.empty() && alive.front()->eligible)
    std::erase_if(alive, [=](const Contestant* one) { return !one->eligible && one != with; });
  return alive;
}

std::span<const TimedVisit> visits_between(const Contestant& contestant, const Block& from,
                                           const Block& before) {
  const auto& visits = contestant.visits;
  const auto first = std::ranges::lower_bound(visits, from, {}, &TimedVisit::block);
  return {first, std::ranges::lower_bound(first, visits.end(), before, {}, &TimedVisit::block)};
}

/// Of their visits in [from, before).
ContestState pairs_of(const std::vector<const Contestant*>& alive, const Block& from,
                      const Block& before) {
  ContestState state;
  if (alive.empty()) return state;
  const auto references = visits_between(*alive.front(), from, before);
  for (const Contestant* contestant : alive) {
    auto& ratios = state.log_ratios.emplace_back();
    auto& blocks = state.blocks.emplace_back();
    const auto visits = visits_between(*contestant, from, before);
    auto reference = references.begin();
    for (const TimedVisit& visit : visits) {
      while (reference != references.end() && reference->block < visit.block) ++reference;
      if (reference == references.end()) break;
      if (reference->block != visit.block) continue;
      ratios.push_back(visit.log_ns - reference->log_ns);
      // Both halves of a round are one block of the bootstrap.
      blocks.push_back(std::get<0>(visit.block) * 100'000 + std::get<1>(visit.block));
    }
  }
  return state;
}

}  // namespace

ContestState state_of(const std::vector<Contestant>& contestants, const MeasurePolicy& policy,
                      const Block& before) {
  constexpr Block kFirst{std::numeric_limits<std::int64_t>::min(), 0, 0};
  return pairs_of(choosable(competing(contestants, policy, std::get<0>(before))), kFirst, before);
}

std::optional<std::string> why_beaten(const Contestant& contestant,
                                      const std::vector<Contestant>& contestants,
                                      const MeasurePolicy& policy, std::int64_t process) {
  if (!policy.race || contestant.control) return std::nullopt;
  const auto alive = choosable(competing(contestants, policy, process), &contestant);
  const auto own = std::ranges::find(alive, &contestant);
  if (own == alive.begin() || own == alive.end()) return std::nullopt;
  const Block begin{process, 0, 0}, end{process + 1, 0, 0};
  const auto place = static_cast<std::size_t>(own - alive.begin());
  if (!is_clear_loser(pairs_of(alive, begin, end), place)) return std::nullopt;
  return fmt::format("{}{:.3g} times as slow as the best", kBeaten,
                     contestant.median_ns() / alive.front()->median_ns());
}

}  // namespace nsa::tuner
