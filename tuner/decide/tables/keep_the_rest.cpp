#include "classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "decide/ratios/row_filter.hpp"

namespace nsa::tuner {
namespace {

void add_runs(const Decision& decision, std::set<std::string>& runs) {
  for (const ThresholdRange& range : decision.ranges)
    runs.insert(range.evidence.run_ids.begin(), range.evidence.run_ids.end());
}

/// Adds what `kept` decides beside `now`; how many decisions that are.
int add_decisions(const ClassDecisions& kept, ClassDecisions& now, std::set<std::string>& runs) {
  int count = 0;
  for (const Decision& decision : kept.decisions) {
    const auto same = [&](const Decision& other) { return other.stages == decision.stages; };
    if (std::ranges::any_of(now.decisions, same)) continue;
    now.decisions.push_back(decision);
    add_runs(decision, runs);
    ++count;
  }
  std::ranges::stable_sort(now.decisions, {},
                           [](const Decision& d) { return stage_order(d.stages); });
  return count;
}

/// What the users' names said, where nothing that was measured now says something else.
void keep_flat_view(const FlatView& kept, FlatView& now) {
  for (FlatValue FlatView::*value :
       {&FlatView::sel_ranges_v2_min_s, &FlatView::fa2_min_len_win, &FlatView::fa2_min_len_cmp,
        &FlatView::sel_varlen_min_l, &FlatView::sel_triton_min_l, &FlatView::force_sel_mask,
        &FlatView::use_sel_pack, &FlatView::use_sel_varlen, &FlatView::p_cmp_mixed,
        &FlatView::gate_compile, &FlatView::prefill_batched}) {
    if (now.*value == FlatValue()) now.*value = kept.*value;
  }
  now.lossy = now.lossy || kept.lossy;
}

}  // namespace

void keep_the_rest(const DecideInput& input, DecideReport& report) {
  if (!input.shipped || input.shipped->executor != input.options.executor) return;
  std::set<std::string> runs(report.table.run_ids.begin(), report.table.run_ids.end());
  int count = 0;
  for (const ClassDecisions& kept : input.shipped->classes) {
    const auto now =
        std::ranges::find(report.table.classes, kept.problem_class, &ClassDecisions::problem_class);
    if (now == report.table.classes.end()) {
      for (const Decision& decision : kept.decisions) add_runs(decision, runs);
      count += static_cast<int>(kept.decisions.size());
      report.table.classes.push_back(kept);
      continue;
    }
    count += add_decisions(kept, *now, runs);
    if (!now->dense_break_even) now->dense_break_even = kept.dense_break_even;
    keep_flat_view(kept.flat, now->flat);
  }
  report.table.run_ids.assign(runs.begin(), runs.end());
  if (count > 0) {
    report.notes.push_back(fmt::format("{} shipped {} of what was not measured {} kept", count,
                                       count == 1 ? "decision" : "decisions",
                                       count == 1 ? "is" : "are"));
  }
}

}  // namespace nsa::tuner
