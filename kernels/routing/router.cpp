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

/// The place of the wish, and the wish. InputError where the table has no such row.
std::pair<std::size_t, routing::ApiWish> make_wish(Stage stage, const VariantId& id,
                                                   Direction direction,
                                                   const routing::AllStageRows& rows) {
  const std::string text = to_string(id);
  const std::size_t slot = routing::slot_of(rows, id.stages, direction);
  const bool here = !id.stages.empty() && id.stages.front() == to_string(stage);
  routing::ApiWish wish;
  if (here && slot != routing::kSlots) wish.row = rows[slot].find(id.name);
  if (wish.row == routing::kNoRow) {
    throw InputError(text + ": stage " + std::string(to_string(stage)) + " has no such " +
                     (direction == Direction::forward ? "" : "backward ") +
                     "variant on this device; `nsatune variants` lists them");
  }
  const routing::Row& row = rows[slot].at(wish.row);
  if (row.variant->role == Role::baseline) {
    throw InputError(text + ": gives another answer than NSA; it is only measured");
  }
  if (id.point.empty()) return {slot, wish};
  wish.point = id.point;
  if (std::find(row.points.begin(), row.points.end(), id.point) == row.points.end()) {
    throw InputError(text + ": no such point; `nsatune variants` lists the coordinates");
  }
  return {slot, wish};
}

std::optional<std::string> branch_warning(const EnvSnapshot& environment) {
  const std::string* branch = environment.raw("NSA_FORCE_BRANCH");
  if (!branch || *branch == "cmp" || *branch == "sel" || *branch == "win") return std::nullopt;
  return "NSA_FORCE_BRANCH: ignored, expected cmp, sel or win";
}

void append(std::vector<std::string>& to, const std::vector<std::string>& lines) {
  to.insert(to.end(), lines.begin(), lines.end());
}

bool has_no_target(const routing::EnvRule& rule) { return rule.target == routing::kNoRow; }

}  // namespace

routing::AllPolicies routing::make_policies(const AllStageRows& rows,
                                            const EnvSnapshot& environment) {
  AllPolicies policies;
  for (std::size_t i = 0; i < kSlots; ++i) {
    if (is_span(i)) continue;
    policies[i] = make_policy(rows[i], environment);
    // The variables name rows of the forward pass: what has no backward row of its own follows the
    // next source without a word.
    if (i >= kForwardSlots) std::erase_if(policies[i].picks, has_no_target);
  }
  return policies;
}

Router::State::State(Inputs given) : inputs(std::move(given)), id(next_id()) {
  rows = routing::make_all_rows(inputs.rows, inputs.device, inputs.review);
  const auto add_wishes = [&](const auto& variants, Direction direction) {
    for (const auto& [stage, variant] : variants) {
      auto [slot, wish] = make_wish(stage, variant, direction, rows);
      api[slot] = std::move(wish);
    }
  };
  add_wishes(inputs.api.variants, Direction::forward);
  add_wishes(inputs.api.backward, Direction::backward);
  policies = routing::make_policies(rows, inputs.environment);
  quiet = inputs.api.variants.empty() && inputs.api.backward.empty() &&
          std::ranges::all_of(policies, &routing::StagePolicy::empty);
  append(warnings, inputs.environment.warnings);
  if (const auto line = branch_warning(inputs.environment)) warnings.push_back(*line);
  append(warnings, routing::reserve_warnings(inputs.environment));
  const auto add_table = [&](routing::TableSlot slot, const std::optional<ThresholdTable>& table,
                             const std::string& path, const char* without_path) {
    if (!table) return;
    tables[slot] =
        routing::make_index(*table, path.empty() ? without_path : path, inputs.device, rows);
    append(warnings, tables[slot].warnings);
    has_table = has_table || tables[slot].usable;
  };
  add_table(routing::kThresholdsSlot, inputs.table, inputs.table_path, "thresholds");
  add_table(routing::kShippedSlot, inputs.shipped, inputs.shipped_path, "shipped thresholds");
}

Router::Router(Device device)
    : Router([&] {
        Inputs inputs;
        inputs.device = std::move(device);
        return inputs;
      }()) {}
Router::Router(Inputs inputs) : state_(std::make_unique<State>(std::move(inputs))) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

Segmentation Router::segmentation(std::span<const Stage> stages, const Problem& problem,
                                  const Choice* within) const noexcept {
  Segmentation segmentation;
  state_->segment(stages, problem, &state_->policies, within, segmentation);
  return segmentation;
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
