#include "pool/batches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "plan/length.hpp"

namespace nsa::tuner {
namespace {

/// How far apart two lengths of a race in one process have to be.
constexpr std::int64_t kApart = 2;

std::vector<const Contest*> cheapest_first(const Plan& plan) {
  std::vector<const Contest*> contests;
  for (const Contest& contest : plan.contests) contests.push_back(&contest);
  std::ranges::stable_sort(contests, {}, [](const Contest* c) { return c->estimated_s; });
  return contests;
}

std::string race_of(const Contest& contest) {
  return fmt::format("{} {}", fmt::join(contest.stages, "+"), to_string(class_of(contest.problem)));
}

/// A batch as it fills up.
class Filling {
 public:
  bool takes(const Contest& contest, const std::string& race, double most_s,
             std::size_t most_contests) const {
    if (batch_.size() >= most_contests || estimated_s_ + contest.estimated_s > most_s) return false;
    const auto lengths = lengths_.find(race);
    return lengths == lengths_.end() ||
           std::ranges::all_of(lengths->second, [&](std::int64_t length) {
             return far_apart(length, length_of(contest.problem));
           });
  }
  void add(const Contest& contest, const std::string& race) {
    batch_.push_back(&contest);
    estimated_s_ += contest.estimated_s;
    lengths_[race].push_back(length_of(contest.problem));
  }
  Batch take() { return std::move(batch_); }

 private:
  static bool far_apart(std::int64_t a, std::int64_t b) {
    return std::max(a, b) >= kApart * std::max<std::int64_t>(1, std::min(a, b));
  }

  Batch batch_;
  double estimated_s_ = 0;
  std::map<std::string, std::vector<std::int64_t>> lengths_;  // of each race in it
};

}  // namespace

std::vector<Batch> make_batches(const Plan& plan, double most_s, std::size_t most_contests) {
  std::vector<Filling> filling;
  for (const Contest* contest : cheapest_first(plan)) {
    const std::string race = race_of(*contest);
    const auto has_room = [&](const Filling& batch) {
      return batch.takes(*contest, race, most_s, most_contests);
    };
    auto at = std::ranges::find_if(filling, has_room);
    if (at == filling.end()) at = filling.insert(at, Filling());
    at->add(*contest, race);
  }
  std::vector<Batch> batches;
  for (Filling& batch : filling) batches.push_back(batch.take());
  return batches;
}

}  // namespace nsa::tuner
