#include "groups.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "nsa/kernels/decision_axis.hpp"
#include "nsa/schemas/median.hpp"
#include "nsa/schemas/types.hpp"
#include "unasked.hpp"

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

Policy policy_of(const Observation& row) { return {row.launch, row.timer, !row.cold}; }

/// Stages of a foreign worker may be unknown here: they are decided as the whole attention is.
Axis axis_of_stages(const std::vector<std::string>& stages, const ProblemClass& c) {
  const std::optional<Stage> first =
      stages.empty() ? std::nullopt : from_string<Stage>(stages.front());
  return decision_axis(first.value_or(Stage::attention), c.phase, c.direction);
}

/// Times under several policies do not compare: the one with the most rows that count decides.
Rows keep_one_policy(const Rows& rows, const std::string& stage, std::vector<std::string>& notes) {
  std::map<Policy, std::size_t> counts;
  for (const Observation* row : rows) counts[policy_of(*row)] += row->outcome == Outcome::ok;
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  Rows kept;
  for (const Observation* row : rows) {
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

/// Times of other code say nothing of a variant: of each, the rows of its newest hash.
Rows keep_newest_code(const Rows& rows, const std::string& stage, std::vector<std::string>& notes) {
  std::map<VariantId, const Observation*> newest;
  for (const Observation* row : rows) {
    const Observation*& known = newest[*row->variant];
    if (!known || *row->measured_at > *known->measured_at) known = row;
  }
  Rows kept;
  for (const Observation* row : rows) {
    if (*row->source_hash == *newest[*row->variant]->source_hash) kept.push_back(row);
  }
  if (kept.size() < rows.size()) {
    notes.push_back(stage + ": " + std::to_string(rows.size() - kept.size()) +
                    " rows of older code left out");
  }
  return kept;
}

void name_variants(const Rows& rows, const RowFilter& filter, Group& group) {
  std::set<VariantId> distinct;
  for (const Observation* row : rows) distinct.insert(*row->variant);
  std::vector<VariantId> found(distinct.begin(), distinct.end());
  const auto key = [&](const VariantId& id) {
    return std::make_tuple(!filter.eligible(id), filter.tie_order(id, group.axis), id);
  };
  std::ranges::sort(found, {}, key);
  group.eligible = static_cast<std::size_t>(
      std::ranges::count_if(found, [&](const VariantId& id) { return filter.eligible(id); }));
  for (const VariantId& id : found) group.exponents.push_back(filter.exponent(id, group.axis));
  for (std::size_t v = 0; v < group.eligible; ++v) group.built_in.push_back(v);
  std::ranges::stable_sort(group.built_in, {}, [&](std::size_t v) {
    return filter.tie_order(found[v], group.axis).second;
  });
  group.variants = std::move(found);
}

/// Runs by their newest row, the newest first.
void name_runs(const Rows& rows, Group& group) {
  std::map<std::string, std::string> newest, boards;
  for (const Observation* row : rows) {
    std::string& known = newest[*row->run_id];
    known = std::max(known, *row->measured_at);
    boards.emplace(*row->run_id, *row->board);
  }
  for (const auto& [run, at] : newest) group.runs.push_back(run);
  std::ranges::stable_sort(group.runs, std::ranges::greater{},
                           [&](const std::string& run) { return newest[run]; });
  for (const std::string& run : group.runs) group.boards.push_back(boards[run]);
}

/// Means over visits, filled in one after another.
struct Visits {
  explicit Visits(std::size_t variants) : sum(variants), count(variants) {}
  void add(std::size_t v, double log_ns) {
    sum[v] += log_ns;
    ++count[v];
  }
  std::vector<double> means() const {
    std::vector<double> result(sum.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t v = 0; v < sum.size(); ++v) {
      if (count[v] > 0) result[v] = sum[v] / static_cast<double>(count[v]);
    }
    return result;
  }
  std::vector<double> sum;
  std::vector<int> count;
};

template <class T>
std::size_t index_of(const std::vector<T>& values, const T& value) {
  return static_cast<std::size_t>(std::ranges::find(values, value) - values.begin());
}

std::vector<RoundTimes> make_blocks(const Rows& rows, const Group& group, const RowFilter& filter) {
  // The pair tells rounds of a resumed process apart; what no pair names goes by its numbers.
  using Key = std::tuple<std::size_t, std::int64_t, std::int64_t, std::string>;
  std::map<Key, std::pair<Visits, Visits>> found;
  for (const Observation* row : rows) {
    if (!filter.counts(*row)) continue;
    const std::size_t n = group.variants.size();
    const Key key{index_of(group.runs, *row->run_id), row->process, row->round, *row->pair_id};
    auto& [arms, controls] = found.try_emplace(key, Visits(n), Visits(n)).first->second;
    (row->control ? controls : arms).add(index_of(group.variants, *row->variant), row->log_ns);
  }
  std::vector<RoundTimes> blocks;
  std::map<std::pair<std::size_t, std::int64_t>, std::size_t> processes;
  for (const auto& [key, visits] : found) {
    const std::pair process{std::get<0>(key), std::get<1>(key)};
    const std::size_t number = processes.try_emplace(process, processes.size()).first->second;
    blocks.push_back({process.first, number, visits.first.means(), visits.second.means()});
  }
  return blocks;
}

LengthPoint make_point(std::int64_t at, const Rows& rows, const Group& group,
                       const RowFilter& filter) {
  LengthPoint point;
  point.at = at;
  point.blocks = make_blocks(rows, group, filter);
  point.rows = rows;
  for (std::size_t v = 0; v < group.variants.size(); ++v) {
    const bool timed = std::ranges::any_of(
        point.blocks, [&](const RoundTimes& block) { return !std::isnan(block.arms[v]); });
    point.usable.push_back(timed && v < group.eligible && filter.usable(group.variants[v], rows));
  }
  return point;
}

/// Noise rarely makes a launch slower by more: a variant that is, even so, is no rival.
constexpr double kNoiseAtMost = 1.25;

/// A variant that may be the best of the problem, of which there are disturbed samples alone.
std::optional<VariantId> hidden_rival(const LengthPoint& point, const RowFilter& filter) {
  const bool quiet = std::ranges::none_of(
      point.rows, [](const Observation* row) { return row->outcome == Outcome::noisy; });
  if (quiet) return std::nullopt;
  std::map<VariantId, std::vector<double>> heard, disturbed;
  std::set<VariantId> failed;
  for (const Observation* row : point.rows) {
    if (row->control || !filter.eligible(*row->variant)) continue;
    const bool noisy = row->outcome == Outcome::noisy;
    if (filter.counts(*row)) heard[*row->variant].push_back(row->log_ns);
    if (noisy && !std::isnan(row->log_ns)) disturbed[*row->variant].push_back(row->log_ns);
    if (!noisy && row->outcome != Outcome::ok) failed.insert(*row->variant);
  }
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [id, times] : heard) best = std::min(best, median(times));
  for (const auto& [id, times] : disturbed) {
    if (heard.contains(id) || failed.contains(id)) continue;
    if (median(times) < best + std::log(kNoiseAtMost)) return id;
  }
  return std::nullopt;
}

/// What wins while nobody heard of its rival has not won.
void leave_out_hidden(const std::string& stage, const RowFilter& filter,
                      std::vector<LengthPoint>& points, std::vector<std::string>& notes) {
  std::size_t left_out = 0;
  std::string first;
  std::erase_if(points, [&](const LengthPoint& point) {
    const std::optional<VariantId> rival = hidden_rival(point, filter);
    if (rival && left_out++ == 0) first = to_string(*rival) + " at " + std::to_string(point.at);
    return rival.has_value();
  });
  if (left_out == 0) return;
  notes.push_back(stage + ": " + std::to_string(left_out) +
                  (left_out == 1 ? " measured problem decides" : " measured problems decide") +
                  " nothing: a variant that may be the best there has disturbed samples only (" +
                  first + ")");
}

/// A range cannot tell problems of one axis value apart: what runs there has to run at all of them.
void share_usable(std::vector<LengthPoint>& points) {
  for (std::size_t from = 0, to = 0; from < points.size(); from = to) {
    while (to < points.size() && points[to].at == points[from].at) ++to;
    const std::span<LengthPoint> same(points.data() + from, to - from);
    for (std::size_t v = 0; v < same.front().usable.size(); ++v) {
      const bool everywhere = std::ranges::all_of(
          same, [&](const LengthPoint& point) { return point.usable[v] || point.unasked[v]; });
      for (LengthPoint& point : same) point.usable[v] = point.usable[v] && everywhere;
    }
  }
}

Group make_group(const DecideInput& input, const ProblemClass& c, const Rows& rows,
                 std::vector<std::string>& notes) {
  Group group;
  group.problem_class = c;
  group.stages = rows.front()->variant->stages;
  group.axis = axis_of_stages(group.stages, c);
  const std::string stage = join_stages(group.stages);
  const Rows kept = keep_newest_code(keep_one_policy(rows, stage, notes), stage, notes);
  group.launch = kept.front()->launch;
  group.timer = kept.front()->timer;
  const RowFilter filter(input, rows);
  name_variants(kept, filter, group);
  name_runs(kept, group);
  std::map<std::tuple<bool, std::int64_t, std::string>, Rows> problems;
  for (const Observation* row : kept) {
    problems[{row->held_out, axis_value(*row->problem, group.axis), problem_key(*row->problem)}]
        .push_back(row);
  }
  for (const auto& [key, of_problem] : problems) {
    auto& side = std::get<0>(key) ? group.held_out : group.points;
    side.push_back(make_point(std::get<1>(key), of_problem, group, filter));
  }
  leave_out_hidden(stage, filter, group.points, notes);
  leave_out_hidden(stage, filter, group.held_out, notes);
  mark_unasked(group);
  share_usable(group.points);
  return group;
}

bool by_place(const Observation* a, const Observation* b) {
  return std::tie(*a->run_id, *a->pair_id, a->process, a->round, a->position, *a->variant) <
         std::tie(*b->run_id, *b->pair_id, b->process, b->round, b->position, *b->variant);
}

}  // namespace

std::vector<ClassRows> group_rows(const DecideInput& input, std::vector<std::string>& notes) {
  std::map<ClassKey, std::map<std::vector<std::string>, Rows>> found;
  std::map<const Problem*, ClassKey> keys;  // rows share their problems
  for (const Observation& row : input.rows.rows()) {
    if (*row.executor != input.options.executor) continue;
    auto key = keys.find(row.problem);
    if (key == keys.end()) key = keys.emplace(row.problem, key_of(class_of(*row.problem))).first;
    found[key->second][row.variant->stages].push_back(&row);
  }
  std::vector<ClassRows> classes;
  for (auto& [key, by_stage] : found) {
    ClassRows result;
    result.problem_class = class_of(*by_stage.begin()->second.front()->problem);
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
