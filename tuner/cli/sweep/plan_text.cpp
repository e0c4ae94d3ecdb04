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

}  // namespace

Json plan_json(const tuner::Plan& plan, const std::string& device_id) {
  Json contests = Json::array();
  for (const tuner::Contest& contest : plan.contests) {
    Json variants = Json::array();
    for (const tuner::Candidate& candidate : contest.variants)
      variants.push_back(to_string(candidate.id));
    contests.push_back({{"stages", contest.stages},
                        {"problem", contest.problem},
                        {"variants", variants},
                        {"estimated_s", contest.estimated_s}});
  }
  Json skipped = Json::array();
  for (const tuner::Skipped& s : plan.skipped) {
    skipped.push_back({{"variant", to_string(s.variant.id)},
                       {"outcome", to_string(s.outcome)},
                       {"reason", s.reason}});
  }
  return {{"device", device_id},
          {"estimated_s", plan.estimated_s},
          {"contests", contests},
          {"skipped", skipped}};
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
  return text +
         fmt::format("{} on {}, about {}\n", counted(std::ssize(plan.contests), "contest"),
                     device_id, reports::format_duration(plan.estimated_s)) +
         budget_text(plan, budget_s);
}

}  // namespace nsa::cli
