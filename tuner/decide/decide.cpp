// The whole decision: rows in, one table out.
#include "nsa/tuner/decide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <utility>

#include "decide/ranges/break_even.hpp"
#include "decide/ratios/nights.hpp"
#include "decide/tables/boards.hpp"
#include "decide/tables/classes.hpp"
#include "decide/tables/flat_view.hpp"
#include "decide/tables/reserves.hpp"
#include "decision.hpp"
#include "emit/project_times.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::tuner {
namespace {

const Decision* find_shipped(const DecideInput& input, const Group& group) {
  if (!input.shipped || input.shipped->executor != input.options.executor) return nullptr;
  return find_decision(*input.shipped, group.problem_class, group.stages);
}

/// A variant that the shipped decision chooses at a length of these rows, that could still run, and
/// of which they have nothing, not even a failure: what the others are worth beside it is not
/// known. One that they have at other lengths was left out where it was slow.
std::optional<VariantId> chosen_but_not_measured(const Decision& shipped, const Group& group,
                                                 const DecideInput& input) {
  if (shipped.axis != group.axis) return std::nullopt;
  for (const LengthPoint& point : group.points) {
    const ThresholdRange* const range = range_at(shipped, point.at);
    if (!range || std::ranges::find(group.variants, range->variant) != group.variants.end())
      continue;
    const bool exists = std::ranges::any_of(input.variants, [&](const VariantTraits& one) {
      return one.id == range->variant && one.eligible;
    });
    if (exists) return range->variant;
  }
  return std::nullopt;
}

void add_prefixed(const std::string& prefix, const std::vector<std::string>& lines,
                  std::vector<std::string>& notes) {
  for (const std::string& line : lines) notes.push_back(prefix + ": " + line);
}

/// The options with the lengths of the workload that concern a group, as values of its axis.
DecideOptions options_for(const Group& group, const DecideOptions& all) {
  DecideOptions options = all;
  options.workload.clear();
  const ProblemClass& c = group.problem_class;
  for (UseOfLength use : all.workload) {
    if (use.phase && *use.phase != c.phase) continue;
    const std::int64_t seen = use.tokens + (c.phase == Phase::decode ? 1 : 0);
    if (group.axis == Axis::compressed_len) use.tokens = num_compressed(seen, c.geometry);
    if (group.axis == Axis::row_len) use.tokens = std::min(seen, c.geometry.window);
    if (use.tokens > 0) options.workload.push_back(use);
  }
  return options;
}

std::size_t processors() { return std::max(1U, std::thread::hardware_concurrency()); }

/// What one group gives.
struct GroupResult {
  std::optional<Decision> decision;
  std::optional<DenseBreakEven> dense_break_even;
  std::vector<std::string> notes;
  bool kept = false;  // what is shipped is: its variant was not measured
};

GroupResult decide_one(Group& group, const DecideInput& input) {
  GroupResult result;
  keep_precise_runs(group, result.notes);
  keep_agreeing_runs(group, result.notes);
  const Decision* const shipped = find_shipped(input, group);
  const auto missing = shipped ? chosen_but_not_measured(*shipped, group, input) : std::nullopt;
  if (missing) {  // keep_the_rest() keeps it
    result.notes.push_back(join_stages(group.stages) + ": " + to_string(*missing) +
                           ", which the shipped file chooses, was not measured: what it decided "
                           "is kept; sweep that variant, too");
    result.kept = true;
    return result;
  }
  result.decision = decide_group(group, shipped, options_for(group, input.options), result.notes);
  result.dense_break_even = break_even(group, input);
  return result;
}

/// Groups share nothing but what is only read, so each processor takes the next one that is left.
/// Results lie in the order of the groups, whoever made them.
std::vector<std::vector<GroupResult>> decide_all(std::vector<ClassRows>& classes,
                                                 const DecideInput& input) {
  std::vector<std::vector<GroupResult>> results;
  std::vector<std::pair<Group*, GroupResult*>> work;
  results.reserve(classes.size());
  for (ClassRows& rows : classes) {
    auto& of_class = results.emplace_back(rows.groups.size());
    for (std::size_t i = 0; i < of_class.size(); ++i)
      work.emplace_back(&rows.groups[i], &of_class[i]);
  }
  std::atomic<std::size_t> next = 0;
  const auto take = [&] {
    for (std::size_t i = next++; i < work.size(); i = next++)
      *work[i].second = decide_one(*work[i].first, input);
  };
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < std::min<std::size_t>(work.size(), processors()); ++i)
    others.push_back(std::async(std::launch::async, take));
  take();
  for (auto& other : others) other.get();
  return results;
}

std::optional<ClassDecisions> class_of(const ClassRows& rows, std::vector<GroupResult>& groups,
                                       const DecideInput& input, std::vector<std::string>& notes) {
  ClassDecisions result;
  result.problem_class = rows.problem_class;
  std::vector<std::string> of_class;
  for (GroupResult& group : groups) {
    of_class.insert(of_class.end(), group.notes.begin(), group.notes.end());
    if (group.decision) result.decisions.push_back(std::move(*group.decision));
    if (!group.dense_break_even) continue;
    of_class.push_back(describe(*group.dense_break_even));
    result.dense_break_even = std::move(*group.dense_break_even);
  }
  if (!result.decisions.empty()) {
    DecidedReserves decided = reserves_of(rows, input.device);
    result.reserves = decided.reserves;
    result.reserve_gains = decided.gains;
    for (const auto& [path, gain] : {std::pair("varlen", &ReserveGains::varlen),
                                     std::pair("packed", &ReserveGains::sel_pack)}) {
      if (const auto& saved = decided.gains.*gain)
        of_class.push_back(fmt::format("reserves for {} rows ({:.3g} MB) save {}", path,
                                       1e-6 * static_cast<double>(saved->bytes), describe(*saved)));
    }
  }
  add_prefixed(to_string(rows.problem_class), of_class, notes);
  if (result.decisions.empty()) return std::nullopt;
  return result;
}

std::vector<std::string> run_ids(const DecideInput& input) {
  std::set<std::string> ids;
  for (const Observation& row : input.rows.rows()) {
    if (*row.executor == input.options.executor) ids.insert(*row.run_id);
  }
  return {ids.begin(), ids.end()};
}

void count_ranges(const std::vector<ThresholdRange>& ranges, DecideReport& report) {
  for (const ThresholdRange& range : ranges) {
    report.decided += range.basis == Basis::measured;
    report.undecided += range.basis == Basis::undecided;
  }
}

void count_ranges(DecideReport& report) {
  for (const ClassDecisions& of_class : report.table.classes) {
    for (const Decision& decision : of_class.decisions) {
      count_ranges(decision.ranges, report);
      if (decision.alignment) count_ranges(decision.alignment->ranges, report);
    }
  }
}

}  // namespace

DecideReport decide(const DecideInput& input) {
  DecideReport report = decide_ranges(input);
  add_boards(input, report);
  add_flat_views(input, report.table);
  add_project_times(input, report.table);
  keep_the_rest(input, report);
  return report;
}

DecideReport decide_ranges(const DecideInput& input) {
  expects(input.options.margin >= 1, "margin of 1 or more");
  expects(input.options.bootstrap > 0, "one bootstrap replicate or more");
  DecideReport report;
  report.table.executor = input.options.executor;
  report.table.created_by = input.options.created_by;
  report.table.complete = input.complete;
  report.table.run_ids = run_ids(input);
  report.table.device = input.device;
  report.table.validators = input.validators;
  report.notes = left_out(input);
  std::vector<ClassRows> classes = group_rows(input, report.notes);
  std::vector<std::vector<GroupResult>> results = decide_all(classes, input);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    auto of_class = class_of(classes[i], results[i], input, report.notes);
    if (of_class) report.table.classes.push_back(std::move(*of_class));
  }
  count_ranges(report);
  report.table.complete = report.table.complete && report.undecided == 0;
  const bool kept = std::ranges::any_of(results, [](const std::vector<GroupResult>& of_class) {
    return std::ranges::any_of(of_class, &GroupResult::kept);
  });
  if (report.table.classes.empty() && !kept) {
    report.notes.push_back("nothing could be decided: no row of executor " +
                           input.options.executor + " counts");
  }
  return report;
}

}  // namespace nsa::tuner
