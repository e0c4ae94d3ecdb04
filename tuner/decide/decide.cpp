// The whole decision: rows in, one table out.
#include "nsa/tuner/decide.hpp"

#include <algorithm>
#include <set>

#include "decide/ranges/break_even.hpp"
#include "decide/ranges/reserves.hpp"
#include "decide/ratios/nights.hpp"
#include "decide/tables/flat_view.hpp"
#include "decide/tables/keep_the_rest.hpp"
#include "decide_ranges.hpp"
#include "decision.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::tuner {
namespace {

const Decision* find_shipped(const DecideInput& input, const Group& group) {
  if (!input.shipped || input.shipped->executor != input.options.executor) return nullptr;
  return find_decision(*input.shipped, group.problem_class, group.stages);
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

std::optional<ClassDecisions> decide_class(ClassRows& rows, const DecideInput& input,
                                           std::vector<std::string>& notes) {
  ClassDecisions result;
  result.problem_class = rows.problem_class;
  std::vector<std::string> of_class;
  for (Group& group : rows.groups) {
    keep_agreeing_runs(group, of_class);
    const Decision* shipped = find_shipped(input, group);
    auto decision = decide_group(group, shipped, options_for(group, input.options), of_class);
    if (decision) result.decisions.push_back(std::move(*decision));
    if (auto found = break_even(group, input)) {
      of_class.push_back(describe(*found));
      result.dense_break_even = std::move(*found);
    }
  }
  if (!result.decisions.empty()) result.reserves = reserves_of(rows, input.device, of_class);
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
  add_flat_views(input, report.table);
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
  for (ClassRows& rows : group_rows(input, report.notes)) {
    auto of_class = decide_class(rows, input, report.notes);
    if (of_class) report.table.classes.push_back(std::move(*of_class));
  }
  count_ranges(report);
  report.table.complete = report.table.complete && report.undecided == 0;
  if (report.table.classes.empty()) {
    report.notes.push_back("nothing could be decided: no row of executor " +
                           input.options.executor + " counts");
  }
  return report;
}

}  // namespace nsa::tuner
