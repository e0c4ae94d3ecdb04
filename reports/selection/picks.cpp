#include "picks.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace nsa::selection {
namespace {

double score_of(const Row& scores, std::int64_t block) {
  return scores[static_cast<std::size_t>(block)];
}

/// Blocks that are complete before the query's own neighbours: all but the forced ones.
Picks candidates(const Row& scores) {
  const auto blocks = static_cast<std::int64_t>(scores.size());
  Picks all(static_cast<std::size_t>(std::max<std::int64_t>(blocks - kForced, 0)));
  std::iota(all.begin(), all.end(), std::int64_t{1});
  return all;
}

/// The best `most` of them, best first.
Picks best_of(Picks blocks, const Row& scores, std::int64_t most) {
  const auto kept = std::clamp<std::int64_t>(most, 0, static_cast<std::int64_t>(blocks.size()));
  const auto better = [&](std::int64_t a, std::int64_t b) {
    return score_of(scores, a) != score_of(scores, b) ? score_of(scores, a) > score_of(scores, b)
                                                      : a < b;
  };
  std::partial_sort(blocks.begin(), blocks.begin() + kept, blocks.end(), better);
  blocks.resize(static_cast<std::size_t>(kept));
  return blocks;
}

}  // namespace

Picks exact_picks(const Row& scores, std::int64_t count) {
  return best_of(candidates(scores), scores, count - kForced);
}

Picks hierarchical_picks(const Row& scores, std::int64_t count) {
  const auto groups = static_cast<std::int64_t>(scores.size()) / kSuper + 1;
  Row best(static_cast<std::size_t>(groups), -1);
  std::map<std::int64_t, Picks> inside;
  for (const std::int64_t block : candidates(scores)) {
    double& top = best[static_cast<std::size_t>(block / kSuper)];
    top = std::max(top, score_of(scores, block));
    inside[block / kSuper].push_back(block);
  }
  Picks order;
  for (const auto& [group, blocks] : inside) order.push_back(group);
  Picks picks;
  for (const std::int64_t group : best_of(order, best, (count - kForced + 1) / 2)) {
    for (const std::int64_t block : best_of(inside[group], scores, 2)) picks.push_back(block);
  }
  return best_of(picks, scores, count - kForced);
}

Picks two_level_picks(const Row& scores, std::int64_t count) {
  std::map<std::int64_t, Picks> inside;
  for (const std::int64_t block : candidates(scores)) inside[block / kSuper].push_back(block);
  Row mean(scores.size() / kSuper + 1, 0);
  Picks order;
  for (const auto& [group, blocks] : inside) {
    for (const std::int64_t block : blocks)
      mean[static_cast<std::size_t>(group)] +=
          score_of(scores, block) / static_cast<double>(blocks.size());
    order.push_back(group);
  }
  const auto quarter = (static_cast<std::int64_t>(order.size()) + 3) / 4;
  Picks picks;
  for (const std::int64_t group : best_of(order, mean, std::max<std::int64_t>(quarter, 2)))
    picks.insert(picks.end(), inside[group].begin(), inside[group].end());
  return best_of(picks, scores, count - kForced);
}

Picks most_of_picks(const Row& scores, std::int64_t count) {
  const Picks exact = exact_picks(scores, count);
  double all = 0, held = 0;
  for (const std::int64_t block : exact) all += score_of(scores, block);
  Picks picks;
  for (const std::int64_t block : exact) {
    if (held >= 0.9 * all) break;
    held += score_of(scores, block);
    picks.push_back(block);
  }
  return picks;
}

}  // namespace nsa::selection
