#include "groups.hpp"

#include <algorithm>
#include <tuple>

#include "nsa/schemas/types.hpp"

namespace nsa::tuner {
namespace {

using ClassKey = std::tuple<Direction, Phase, Dtype, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                            std::int64_t, BatchBin, OverlapBin>;
using Policy = std::tuple<LaunchMode, Timer, bool>;

ClassKey key_of(const ProblemClass& c) {
  return {c.direction,
          c.phase,
          c.dtype,
          c.q_heads,
          c.kv_heads,
          c.head_dim_k,
          c.head_dim_v,
          c.geometry.cmp_block,
          c.geometry.cmp_stride,
          c.geometry.sel_block,
          c.geometry.sel_count,
          c.geometry.window,
          c.batch_bin,
          c.overlap_bin};
}

Policy policy_of(const Measurement& row) { return {row.launch, row.timer, !row.cold}; }

/// Stages of a foreign worker may be unknown here: they are decided as the whole attention is.
Axis axis_of_stages(const std::vector<std::string>& stages, Phase phase) {
  const std::optional<Stage> first =
      stages.empty() ? std::nullopt : from_string<Stage>(stages.front());
  return axis_of(first.value_or(Stage::attention), phase);
}

/// Times under several policies do not compare: the one with the most rows that count decides.
Rows keep_one_policy(const Rows& rows, const std::string& stage, std::vector<std::string>& notes) {
  std::map<Policy, std::size_t> counts;
  for (const Measurement* row : rows) counts[policy_of(*row)] += row->outcome == Outcome::ok;
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  Rows kept;
  for (const Measurement* row : rows) {
    if (policy_of(*row) == most->first) kept.push_back(row);
  }
  if (kept.size() < rows.size()) {
    notes.push_back(stage + ": " + std::to_string(rows.size() - kept.size()) +
                    " rows with another launch, timer or cache policy left out; decided by " +
                    std::string(to_string(std::get<0>(most->first))) + ", " +
                    std::string(to_string(std::get<1>(most->first))));
  }
  return kept;
}

void name_variants(const Rows& rows, const RowFilter& filter, Group& group) {
  std::vector<VariantId> found;
  for (const Measurement* row : rows) {
    if (std::find(found.begin(), found.end(), row->variant) == found.end()) {
      found.push_back(row->variant);
    }
  }
  std::sort(found.begin(), found.end(), [&](const VariantId& a, const VariantId& b) {
    return std::make_tuple(!filter.eligible(a), filter.order(a), a) <
           std::make_tuple(!filter.eligible(b), filter.order(b), b);
  });
  group.eligible = static_cast<std::size_t>(std::count_if(
      found.begin(), found.end(), [&](const auto& id) { return filter.eligible(id); }));
  group.variants = std::move(found);
}

struct Visits {
  std::map<std::size_t, Rows> arms, controls;
};

std::map<std::size_t, Arm> arms_of(const std::map<std::size_t, Rows>& visits) {
  std::map<std::size_t, Arm> arms;
  for (const auto& [variant, rows] : visits) {
    if (const std::optional<Arm> arm = make_arm(rows)) arms[variant] = *arm;
  }
  return arms;
}

std::vector<Block> make_blocks(const Rows& rows, const Group& group, const RowFilter& filter) {
  using Key = std::tuple<std::string, std::string, std::int64_t, std::int64_t>;
  std::map<Key, Visits> found;
  for (const Measurement* row : rows) {
    if (!filter.counts(*row)) continue;
    const auto at = std::find(group.variants.begin(), group.variants.end(), row->variant);
    Visits& visits = found[{row->run_id, row->pair_id, row->process, row->round}];
    auto& side = row->control ? visits.controls : visits.arms;
    side[static_cast<std::size_t>(at - group.variants.begin())].push_back(row);
  }
  std::vector<Block> blocks;
  for (const auto& [key, visits] : found) {
    Block block{arms_of(visits.arms), arms_of(visits.controls)};
    if (!block.arms.empty()) blocks.push_back(std::move(block));
  }
  return blocks;
}

Spot make_spot(std::int64_t at, const Rows& rows, const Group& group, const RowFilter& filter) {
  Spot spot{at, make_blocks(rows, group, filter), {}, rows};
  for (std::size_t v = 0; v < group.variants.size(); ++v) {
    const bool timed = std::any_of(spot.blocks.begin(), spot.blocks.end(),
                                   [&](const Block& block) { return block.arms.contains(v); });
    spot.usable.push_back(timed && v < group.eligible && filter.usable(group.variants[v], rows));
  }
  return spot;
}

Group make_group(const DecideInput& input, const ProblemClass& c, const Rows& rows,
                 std::vector<std::string>& notes) {
  Group group;
  group.problem_class = c;
  group.stages = rows.front()->variant.stages;
  group.axis = axis_of_stages(group.stages, c.phase);
  const Rows kept = keep_one_policy(rows, join_stages(group.stages), notes);
  group.launch = kept.front()->launch;
  group.timer = kept.front()->timer;
  const RowFilter filter(input, rows);
  name_variants(kept, filter, group);
  std::map<std::pair<std::int64_t, std::string>, Rows> problems;
  for (const Measurement* row : kept) {
    problems[{axis_value(row->problem, group.axis), problem_key(row->problem)}].push_back(row);
  }
  for (const auto& [key, of_problem] : problems) {
    group.spots.push_back(make_spot(key.first, of_problem, group, filter));
  }
  return group;
}

bool by_place(const Measurement* a, const Measurement* b) {
  return std::tie(a->run_id, a->pair_id, a->process, a->round, a->position, a->id) <
         std::tie(b->run_id, b->pair_id, b->process, b->round, b->position, b->id);
}

}  // namespace

std::vector<ClassRows> group_rows(const DecideInput& input, std::vector<std::string>& notes) {
  std::map<ClassKey, std::map<std::vector<std::string>, Rows>> found;
  for (const Measurement& row : input.rows) {
    if (row.executor != input.options.executor) continue;
    found[key_of(class_of(row.problem))][row.variant.stages].push_back(&row);
  }
  std::vector<ClassRows> classes;
  for (auto& [key, by_stage] : found) {
    ClassRows result;
    result.problem_class = class_of(by_stage.begin()->second.front()->problem);
    for (auto& [stages, rows] : by_stage) {
      std::sort(rows.begin(), rows.end(), by_place);
      result.rows.insert(result.rows.end(), rows.begin(), rows.end());
      result.groups.push_back(make_group(input, result.problem_class, rows, notes));
    }
    std::stable_sort(result.groups.begin(), result.groups.end(),
                     [](const Group& a, const Group& b) {
                       return stage_order(a.stages) < stage_order(b.stages);
                     });
    classes.push_back(std::move(result));
  }
  return classes;
}

}  // namespace nsa::tuner
