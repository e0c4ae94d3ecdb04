#include "stage_rows.hpp"

#include <algorithm>

#include "nsa/kernels/vendor.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::routing {
namespace {

/// Stages whose own wishes the row has to give way to: it leaves none of them to another row.
std::span<const Stage> computed_at_once(const Variant& variant) {
  return variant.stages.size() > 1 ? variant.stages : variant.plan.covers;
}

Row make_row(const Variant& variant, const Device& device, bool review) {
  Row row;
  row.variant = &variant;
  for (VariantId& id : ids_of(variant)) row.points.push_back(std::move(id.point));
  row.one = computed_at_once(variant);
  const std::string name(variant.name);
  row.unsupported = name + ": does not support this problem";
  if (!variant.launch && !review) {
    row.unusable = name + ": not built into this program";
  } else if (const Support here = runs_on(variant, device, !review); !here.supported) {
    row.unusable = here.reason();
  }
  row.usable = row.unusable.empty();
  return row;
}

/// The places of a sequence's rows. One whose rows are not all there cannot run.
void find_parts(Row& row, const AllStageRows& all) {
  for (const Part& part : row.variant->plan.parts) {
    row.in_turn.push_back(all[static_cast<std::size_t>(part.stage)].find(part.row));
    if (row.in_turn.back() == kNoRow) row.usable = false;
  }
}

StageRows make_stage_rows(std::span<const Stage> stages, Direction direction,
                          std::span<const Variant> catalog, const Device& device, bool review) {
  StageRows result;
  result.stages.assign(stages.begin(), stages.end());
  result.key = span_key(stages);
  for (const Variant& variant : catalog) {
    if (variant.backend == device.backend && variant.direction == direction &&
        std::ranges::equal(variant.stages, stages)) {
      result.rows.push_back(make_row(variant, device, review));
    }
  }
  expects(result.rows.size() <= 64, "64 variants of a stage and back end at most");
  result.built_in = built_in_order(result);
  return result;
}

}  // namespace

int StageRows::find(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].variant->name == name) return static_cast<int>(i);
  }
  return kNoRow;
}

int StageRows::find(const Variant* variant) const noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].variant == variant) return static_cast<int>(i);
  }
  return kNoRow;
}

int StageRows::find_any(std::initializer_list<SwitchTarget> targets) const noexcept {
  for (const SwitchTarget target : targets) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].variant->switch_target == target) return static_cast<int>(i);
    }
  }
  return kNoRow;
}

RowSet StageRows::set_of(std::initializer_list<SwitchTarget> targets) const noexcept {
  RowSet set = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool meant = std::ranges::find(targets, rows[i].variant->switch_target) != targets.end();
    if (meant) set |= bit(static_cast<int>(i));
  }
  return set;
}

AllStageRows make_all_rows(std::span<const Variant> catalog, const Device& device, bool review) {
  AllStageRows all;
  for (std::size_t i = 0; i < kStageCount; ++i) {
    const std::array stage{static_cast<Stage>(i)};
    const bool composite = stage.front() >= Stage::attention;
    for (const Direction direction :
         {Direction::forward, composite ? kForwardBackward : Direction::backward}) {
      all[slot_of(stage.front(), direction)] =
          make_stage_rows(stage, direction, catalog, device, review);
    }
  }
  std::size_t used = kStageCount;
  for (const Variant& variant : catalog) {
    if (variant.backend != device.backend || variant.stages.size() < 2) continue;
    expects(variant.direction == Direction::forward, "a backward row of one stage");
    if (slot_of(all, variant.stages) != kSlots) continue;
    expects(used < kForwardSlots, "four spans of stages of a back end at most");
    StageRows& span = all[used++] =
        make_stage_rows(variant.stages, Direction::forward, catalog, device, review);
    for (Row& row : span.rows) find_parts(row, all);
  }
  return all;
}

std::size_t slot_of(const AllStageRows& rows, const std::vector<std::string>& stages,
                    Direction direction) {
  std::vector<Stage> known;
  for (const std::string& name : stages) {
    const auto stage = from_string<Stage>(name);
    if (!stage) return kSlots;
    known.push_back(*stage);
  }
  return known.empty() ? kSlots : slot_of(rows, known, direction);
}

std::string why_not(const Row& row, const Problem& problem, const Device& device) {
  if (!row.usable) return row.unusable;
  return runs_asked(*row.variant, problem, device).reason();
}

std::vector<int> built_in_order(const StageRows& rows) {
  std::vector<int> order;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const Variant& variant = *rows.rows[i].variant;
    if (!rows.rows[i].usable || variant.role != Role::candidate) continue;
    if (variant.precision == Precision::native) order.push_back(static_cast<int>(i));
  }
  std::ranges::stable_sort(order, {}, [&](int i) { return rows.at(i).variant->rank; });
  return order;
}

}  // namespace nsa::routing
