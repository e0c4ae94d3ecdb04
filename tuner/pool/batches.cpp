#include "pool/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

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

}  // namespace nsa::tuner
