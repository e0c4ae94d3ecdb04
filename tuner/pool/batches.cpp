#include "pool/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "nsa/schemas/json.hpp"
#include "plan/contest_id.hpp"

namespace nsa::tuner {
namespace {

struct OfProblem {
  std::vector<const Contest*> contests;
  double estimated_s = 0;
};

std::vector<OfProblem> by_problem(const Plan& plan) {
  std::map<std::string, std::size_t> index;
  std::vector<OfProblem> problems;
  for (const Contest& contest : plan.contests) {
    const auto [it, is_new] = index.try_emplace(Json(contest.problem).dump(), problems.size());
    if (is_new) problems.emplace_back();
    problems[it->second].contests.push_back(&contest);
    problems[it->second].estimated_s += contest.estimated_s;
  }
  std::stable_sort(problems.begin(), problems.end(), [](const OfProblem& a, const OfProblem& b) {
    return a.estimated_s < b.estimated_s;
  });
  return problems;
}

std::string race_of(const Contest& contest) {
  return fmt::format("{} {}", fmt::join(contest.stages, "+"), class_text(contest.problem));
}

}  // namespace

std::vector<Batch> make_batches(const Plan& plan, double most_s, std::size_t most_contests) {
  std::vector<Batch> batches;
  std::set<std::string> races;
  double estimated_s = 0;
  for (const OfProblem& problem : by_problem(plan)) {
    for (const Contest* contest : problem.contests) {
      const bool full = batches.empty() || batches.back().size() >= most_contests ||
                        estimated_s + contest->estimated_s > most_s ||
                        races.contains(race_of(*contest));
      if (full) {
        batches.emplace_back();
        races.clear();
        estimated_s = 0;
      }
      batches.back().push_back(contest);
      races.insert(race_of(*contest));
      estimated_s += contest->estimated_s;
    }
  }
  return batches;
}

}  // namespace nsa::tuner
