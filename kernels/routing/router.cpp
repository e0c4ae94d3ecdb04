// The Router: works everything out once, and answers from it.
#include <atomic>
#include <utility>

#include "nsa/schemas/error.hpp"
#include "router_state.hpp"

namespace nsa {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

routing::ApiWish make_wish(Stage stage, const VariantId& id, const routing::StageRows& rows) {
  const std::string text = to_string(id);
  routing::ApiWish wish;
  wish.row = rows.find(id.name);
  const bool same_stage = id.stages.size() == 1 && id.stages.front() == to_string(stage);
  if (wish.row == routing::kNoRow || !same_stage) {
    throw InputError(text + ": stage " + std::string(to_string(stage)) +
                     " has no such variant on this device; `nsatune variants` lists them");
  }
  const routing::Row& row = rows.rows[static_cast<std::size_t>(wish.row)];
  if (id.point.empty()) return wish;
  wish.point = id.point;
  if (std::find(row.points.begin(), row.points.end(), id.point) == row.points.end()) {
    throw InputError(text + ": no such point; `nsatune variants` lists the coordinates");
  }
  return wish;
}

std::optional<std::string> branch_warning(const EnvSnapshot& environment) {
  const std::string* branch = environment.raw("NSA_FORCE_BRANCH");
  if (!branch || *branch == "cmp" || *branch == "sel" || *branch == "win") return std::nullopt;
  return "NSA_FORCE_BRANCH: ignored, expected cmp, sel or win";
}

void append(std::vector<std::string>& to, const std::vector<std::string>& lines) {
  to.insert(to.end(), lines.begin(), lines.end());
}

}  // namespace

routing::AllPolicies routing::make_policies(const AllStageRows& rows,
                                            const EnvSnapshot& environment) {
  AllPolicies policies;
  for (std::size_t i = 0; i < kStageCount; ++i) policies[i] = make_policy(rows[i], environment);
  return policies;
}

Router::State::State(Inputs given) : inputs(std::move(given)), id(next_id()) {
  for (std::size_t i = 0; i < kStageCount; ++i) {
    rows[i] = routing::make_stage_rows(static_cast<Stage>(i), inputs.rows, inputs.device);
  }
  for (const auto& [stage, variant] : inputs.api.variants) {
    const auto i = static_cast<std::size_t>(stage);
    api[i] = make_wish(stage, variant, rows[i]);
  }
  policies = routing::make_policies(rows, inputs.environment);
  append(warnings, inputs.environment.warnings);
  if (const auto line = branch_warning(inputs.environment)) warnings.push_back(*line);
  append(warnings, routing::reserve_warnings(inputs.environment));
  const auto add_table = [&](routing::TableSlot slot, const std::optional<ThresholdTable>& table,
                             const std::string& path, const char* without_path) {
    if (!table) return;
    tables[slot] =
        routing::make_index(*table, path.empty() ? without_path : path, inputs.device, rows);
    append(warnings, tables[slot].warnings);
  };
  add_table(routing::kThresholdsSlot, inputs.table, inputs.table_path, "thresholds");
  add_table(routing::kShippedSlot, inputs.shipped, inputs.shipped_path, "shipped thresholds");
}

Router::Router(Inputs inputs) : state_(std::make_unique<State>(std::move(inputs))) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

Choice Router::choose(Stage stage, const Problem& problem) const noexcept {
  Choice choice;
  routing::Why why;
  state_->decide(stage, problem, &state_->policies, choice, why);
  return choice;
}

DeviceFit Router::device_fit() const noexcept {
  for (const routing::TableIndex& table : state_->tables) {
    if (table.usable) return table.device_fit;
  }
  return DeviceFit::built_in;
}

const EnvSnapshot& Router::environment() const noexcept { return state_->inputs.environment; }
const Router::Inputs& Router::inputs() const noexcept { return state_->inputs; }
const std::vector<std::string>& Router::warnings() const noexcept { return state_->warnings; }

Reserves Router::reserves(const Problem& problem) const noexcept {
  return routing::reserves_of(*state_, problem, state_->inputs.environment);
}

}  // namespace nsa
