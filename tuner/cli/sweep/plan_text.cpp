#include "plan_text.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "nsa/reports/tables.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"
#include "nsa/schemas/text.hpp"

namespace nsa::cli {
namespace {

using Contests = std::vector<const tuner::Contest*>;

/// The class, and what it leaves out: the pattern of the blocks and how deep the model is.
std::string kind_of(const Problem& p) {
  std::string text = to_string(class_of(p));
  if (p.selection.pattern != SelectionPattern::random)
    text += fmt::format(" {}", to_string(p.selection.pattern));
  if (p.selection.overlap) text += fmt::format(" overlap {:.3g}", *p.selection.overlap);
  if (p.model.layers > 0) text += fmt::format(" layers {}", p.model.layers);
  return text;
}

/// The contests of each kind, in the order in which the kinds begin.
std::vector<std::pair<std::string, Contests>> by_kind(const tuner::Plan& plan) {
  std::vector<std::pair<std::string, Contests>> kinds;
  for (const tuner::Contest& contest : plan.contests) {
    const std::string kind = kind_of(contest.problem);
    auto at = std::ranges::find(kinds, kind, &std::pair<std::string, Contests>::first);
    if (at == kinds.end()) at = kinds.insert(kinds.end(), {kind, {}});
    at->second.push_back(&contest);
  }
  return kinds;
}

/// The budget pays for the contests in their order, the cheapest first.
std::string budget_text(const tuner::Plan& plan, std::optional<double> budget_s) {
  if (!budget_s || *budget_s >= plan.estimated_s) return "";
  double left_s = *budget_s;
  std::int64_t covered = 0;
  for (const tuner::Contest& contest : plan.contests) {
    left_s -= contest.estimated_s;
    if (left_s < 0) break;
    ++covered;
  }
  return fmt::format("the budget of {} covers about {}\n", reports::format_duration(*budget_s),
                     counted(covered, "contest"));
}

Json contests_json(const std::vector<tuner::Contest>& contests) {
  Json json = Json::array();
  for (const tuner::Contest& contest : contests) {
    Json variants = Json::array();
    for (const tuner::Candidate& candidate : contest.variants)
      variants.push_back(to_string(candidate.id));
    json.push_back({{"stages", contest.stages},
                    {"problem", contest.problem},
                    {"variants", variants},
                    {"estimated_s", contest.estimated_s}});
  }
  return json;
}

/// The contests that would take too long, by their stages: how many, from which length on.
std::string left_out_text(const tuner::Plan& plan, reports::Style style) {
  if (plan.left_out.empty()) return "";
  struct Group {
    std::string stages;
    std::int64_t contests = 0;
    const tuner::Contest *first = nullptr, *longest = nullptr;
  };
  std::vector<Group> groups;
  for (const tuner::Contest& contest : plan.left_out) {  // cheapest first
    const std::string stages = fmt::format("{}", fmt::join(contest.stages, "+"));
    auto at = std::ranges::find(groups, stages, &Group::stages);
    if (at == groups.end()) at = groups.insert(groups.end(), Group{stages, 0, &contest, nullptr});
    ++at->contests;
    at->longest = &contest;
  }
  reports::TextTable table;
  table.add_column("too long here");
  table.add_columns({"contests", "each"}, reports::Align::right);
  for (const Group& group : groups) {
    const std::string least = reports::format_duration(group.first->estimated_s);
    const std::string most = reports::format_duration(group.longest->estimated_s);
    table.add_row({group.stages, std::to_string(group.contests),
                   least == most ? least : least + " to " + most});
  }
  return "\n" + left_out_line(plan) + "\n" + table.render(style, 2) + "\n";
}

}  // namespace

std::string left_out_line(const tuner::Plan& plan) {
  double total_s = 0;
  for (const tuner::Contest& contest : plan.left_out) total_s += contest.estimated_s;
  return fmt::format(
      "{} left out, of {} together: each would take longer here than the spec's contest_limit_s "
      "allows",
      counted(std::ssize(plan.left_out), "contest"), reports::format_duration(total_s));
}

Json plan_json(const tuner::Plan& plan, const std::string& device_id) {
  Json skipped = Json::array();
  for (const tuner::Skipped& s : plan.skipped) {
    skipped.push_back({{"variant", to_string(s.variant.id)},
                       {"outcome", to_string(s.outcome)},
                       {"reason", s.reason}});
  }
  Json json = {{"device", device_id},
               {"estimated_s", plan.estimated_s},
               {"contests", contests_json(plan.contests)},
               {"skipped", skipped}};
  if (!plan.left_out.empty()) json["left_out"] = contests_json(plan.left_out);
  return json;
}

std::string plan_text(const tuner::Plan& plan, const std::string& device_id,
                      std::optional<double> budget_s, reports::Style style) {
  std::string text;
  for (const auto& [kind, contests] : by_kind(plan)) {
    reports::TextTable table;
    table.add_column("stages");
    table.add_columns({"length", "variants", "time"}, reports::Align::right);
    for (const tuner::Contest* c : contests)
      table.add_row({fmt::format("{}", fmt::join(c->stages, "+")), reports::length_text(c->problem),
                     std::to_string(c->variants.size()), fmt::format("{:.1f} s", c->estimated_s)});
    text += kind + "\n" + table.render(style, 2);
  }
  return text + left_out_text(plan, style) +
         fmt::format("{} on {}, about {}\n", counted(std::ssize(plan.contests), "contest"),
                     device_id, reports::format_duration(plan.estimated_s)) +
         budget_text(plan, budget_s);
}

}  // namespace nsa::cli
