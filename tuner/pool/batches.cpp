#include "pool/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>

#include "nsa/tuner/sweep.hpp"

namespace nsa::tuner {
namespace {

std::vector<const Contest*> cheapest_first(const Plan& plan) {
  std::vector<const Contest*> contests;
  for (const Contest& contest : plan.contests) contests.push_back(&contest);
  std::ranges::stable_sort(contests, {}, [](const Contest* c) { return c->estimated_s; });
  return contests;
}

std::string race_of(const Contest& contest) {
  return fmt::format("{} {}", fmt::join(contest.stages, "+"), to_string(class_of(contest.problem)));
}

}  // namespace

std::vector<Batch> make_batches(const Plan& plan, double most_s, std::size_t most_contests) {
  std::vector<Batch> batches;
  std::vector<double> estimated_s;
  std::map<std::string, std::size_t> next;  // of a race: after the batch of its last length
  for (const Contest* contest : cheapest_first(plan)) {
    std::size_t& at = next[race_of(*contest)];
    const auto has_room = [&](std::size_t b) {
      return batches[b].size() < most_contests && estimated_s[b] + contest->estimated_s <= most_s;
    };
    while (at < batches.size() && !has_room(at)) ++at;
    if (at == batches.size()) {
      batches.emplace_back();
      estimated_s.push_back(0);
    }
    batches[at].push_back(contest);
    estimated_s[at] += contest->estimated_s;
    ++at;
  }
  return batches;
}

std::size_t crews_for(const Device& device, std::int64_t processes) {
  // A process compiles and loads on two cores at most. Of memory it gets much more than its context
  // takes; whether contests fit in beside one another is asked of each (fit_in_lanes).
  constexpr std::int64_t kMost = 4, kCores = 2, kBytes = std::int64_t{8} << 30;
  const std::int64_t cores = std::thread::hardware_concurrency();
  const std::int64_t by_memory = device.memory_bytes.value_or(0) / (kBytes * processes);
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(std::min(cores / (kCores * processes), by_memory), 1, kMost));
}

std::vector<Placed> place_in_crews(std::span<const Batch> batches, std::size_t crews) {
  std::vector<std::size_t> of_batch(batches.size(), 1);
  // The next one to the batch whose crews have the most to do.
  const auto load = [&](std::size_t b) {
    return static_cast<double>(batches[b].size()) / static_cast<double>(of_batch[b]);
  };
  for (std::size_t spare = crews - std::min(crews, batches.size()); !batches.empty() && spare > 0;
       --spare) {
    std::size_t most = 0;
    for (std::size_t b = 1; b < batches.size(); ++b)
      if (load(b) > load(most)) most = b;
    if (load(most) <= kContestsOfCrew) break;
    ++of_batch[most];
  }
  std::vector<Placed> placed;
  std::size_t first = 0;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    for (std::size_t i = 0; i < batches[b].size(); ++i)
      placed.push_back({batches[b][i], first + i % of_batch[b]});
    first += of_batch[b];
  }
  std::ranges::stable_sort(placed, {}, [](const Placed& one) { return one.contest->estimated_s; });
  return placed;
}

}  // namespace nsa::tuner
