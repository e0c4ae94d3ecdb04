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

struct FlatOfStage {
  FlatValue FlatView::*value;
  Stage stage;
};
constexpr FlatOfStage kFlatValues[] = {{&FlatView::sel_ranges_v2_min_s, Stage::ranges},
                                       {&FlatView::fa2_min_len_win, Stage::attend_window},
                                       {&FlatView::fa2_min_len_cmp, Stage::attend_compressed},
                                       {&FlatView::sel_varlen_min_l, Stage::attend_selected},
                                       {&FlatView::sel_triton_min_l, Stage::attend_selected},
                                       {&FlatView::force_sel_mask, Stage::attend_selected},
                                       {&FlatView::use_sel_pack, Stage::attend_selected},
                                       {&FlatView::use_sel_varlen, Stage::attend_selected},
                                       {&FlatView::p_cmp_mixed, Stage::score},
                                       {&FlatView::gate_compile, Stage::gate_combine},
                                       {&FlatView::prefill_batched, Stage::attention}};

bool decides(const ClassDecisions& of, const std::string& stage) {
  return std::ranges::find(of.decisions, std::vector{stage}, &Decision::stages) !=
         of.decisions.end();
}

/// What the users' names said of stages that nobody measured now.
void keep_flat_view(const ClassDecisions& kept, ClassDecisions& now) {
  bool any = false;
  for (const auto& [value, stage] : kFlatValues) {
    if (decides(now, std::string(to_string(stage))) || now.flat.*value != FlatValue()) continue;
    now.flat.*value = kept.flat.*value;
    any = any || now.flat.*value != FlatValue();
  }
  now.flat.lossy = now.flat.lossy || (any && kept.flat.lossy);
}

/// What is known of the paths of other programs in stages that nobody measured now.
void keep_projects(const ClassDecisions& kept, ClassDecisions& now) {
  for (const ProjectTimes& project : kept.projects) {
    auto at = std::ranges::find(now.projects, project.project, &ProjectTimes::project);
    if (at == now.projects.end()) at = now.projects.insert(at, ProjectTimes{project.project, {}});
    for (const ProjectStageTimes& stage : project.stages) {
      if (decides(now, stage.stage)) continue;
      const auto known = std::ranges::find(at->stages, stage.stage, &ProjectStageTimes::stage);
      if (known == at->stages.end())
        at->stages.push_back(stage);
      else if (known->ranges.empty())
        *known = stage;
    }
    if (at->stages.empty()) now.projects.erase(at);
  }
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
    keep_flat_view(kept, *now);
    keep_projects(kept, *now);
    count += add_decisions(kept, *now, runs);
    if (!now->dense_break_even) now->dense_break_even = kept.dense_break_even;
  }
  // A file that is kept under version control changes where decisions do.
  const auto place = [&](const ClassDecisions& one) {
    return std::ranges::find(input.shipped->classes, one.problem_class,
                             &ClassDecisions::problem_class);
  };
  std::ranges::stable_sort(report.table.classes, {}, place);
  report.table.run_ids.assign(runs.begin(), runs.end());
  if (count > 0) {
    report.notes.push_back(fmt::format("{} shipped {} of what was not measured {} kept", count,
                                       count == 1 ? "decision" : "decisions",
                                       count == 1 ? "is" : "are"));
  }
}

}  // namespace nsa::tuner
