// Joins the stage folders' tables into the one table.
#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "catalog/composite_hash.hpp"
#include "catalog/in_turn.hpp"
#include "catalog/stages.hpp"
#include "nsa/kernels/directions.hpp"

namespace nsa {
namespace {

void append_sorted(std::vector<Variant>& rows, std::vector<Variant> more) {
  std::ranges::stable_sort(more, {}, [](const Variant& row) {
    return std::pair{row.direction, row.backend};
  });
  rows.insert(rows.end(), more.begin(), more.end());
}

std::vector<Variant> joined_tables() {
  std::vector<Variant> rows;
  for (const auto table : {project_rope_variants, compress_variants, score_variants,
                           ranges_variants, attend_compressed_variants, attend_selected_variants,
                           attend_window_variants, gate_combine_variants, out_proj_variants}) {
    append_sorted(rows, {table().begin(), table().end()});
  }
  for (const Variant& sequence : rows_in_turn(rows)) {
    const auto of_its_stage = [&](const Variant& row) {
      return row.stages.front() == sequence.stages.front() &&
             std::pair{row.direction, row.backend} <=
                 std::pair{sequence.direction, sequence.backend};
    };
    const auto last = std::find_if(rows.rbegin(), rows.rend(), of_its_stage);
    rows.insert(last.base(), sequence);
  }
  for (const auto table : {attention_variants, layer_variants, model_variants}) {
    append_sorted(rows, {table().begin(), table().end()});
  }
  return rows;
}

/// Points each part of a plan at its row; `parts` keeps them.
void resolve_parts(std::vector<Variant>& rows, std::deque<std::vector<Part>>& parts) {
  for (Variant& row : rows) {
    if (row.plan.parts.empty()) continue;
    auto& resolved = parts.emplace_back(row.plan.parts.begin(), row.plan.parts.end());
    for (Part& part : resolved) {
      // Of both passes: the backward pass takes the row of that name, where there is one.
      const Direction direction =
          row.direction == kForwardBackward ? Direction::forward : row.direction;
      const auto named = std::ranges::find_if(rows, [&](const Variant& other) {
        return other.backend == row.backend && other.direction == direction &&
               other.name == part.name && other.stages.size() == 1 &&
               other.stages.front() == part.stage;
      });
      expects(named != rows.end(), "a part that the table has");
      part.row = &*named;
    }
    row.plan.parts = resolved;
  }
}

/// What no code of the stages can be below: each query sees all compressed tokens before it.
WorkOrder least_order(const Variant& row) {
  if (row.plan.dense) return kQuadratic;
  const bool quadratic = std::ranges::any_of(row.stages, [](Stage stage) {
    return stage == Stage::score || stage == Stage::attend_compressed || stage >= Stage::attention;
  });
  return quadratic ? kQuadratic : WorkOrder{};
}

/// The table, and what its views look at.
struct Catalog {
  Catalog() : rows(joined_tables()) {
    resolve_parts(rows, parts);
    hash_composites(rows, hashes);
    for (Variant& row : rows) {
      if (!row.order) row.order = least_order(row);
    }
    for (const Variant& row : rows) {
      if (row.stages.size() != 1 || row.role != Role::candidate || !row.launch) continue;
      for (std::size_t i = 0; i < kDirectionCount; ++i) {
        const auto direction = static_cast<Direction>(i);
        if (computes(row, direction))
          candidates[index(row.stages.front(), row.backend, direction)].push_back(&row);
      }
    }
    for (auto& of_stage : candidates) std::ranges::stable_sort(of_stage, {}, &Variant::rank);
  }
  static std::size_t index(Stage stage, Backend backend, Direction direction) {
    return (2 * static_cast<std::size_t>(stage) + (backend == Backend::cpu ? 0 : 1)) *
               kDirectionCount +
           static_cast<std::size_t>(direction);
  }

  std::vector<Variant> rows;
  std::deque<std::vector<Part>> parts;
  std::deque<std::string> hashes;
  std::array<std::vector<const Variant*>, 2 * kDirectionCount * kStageCount> candidates;
};

const Catalog& the_catalog() {
  static const Catalog catalog;
  return catalog;
}

bool same_stages(std::span<const Stage> stages, const std::vector<std::string>& names) {
  return std::equal(stages.begin(), stages.end(), names.begin(), names.end(),
                    [](Stage stage, const std::string& name) { return to_string(stage) == name; });
}

}  // namespace

std::span<const Variant> catalog() { return the_catalog().rows; }

std::span<const Variant* const> candidates_of(Stage stage, Backend backend, Direction direction) {
  return the_catalog().candidates[Catalog::index(stage, backend, direction)];
}

const Variant* find_variant(std::span<const Stage> stages, std::string_view name, Backend backend,
                            Direction direction) {
  for (const Variant& row : catalog()) {
    if (row.backend == backend && computes(row, direction) && row.name == name &&
        std::ranges::equal(row.stages, stages)) {
      return &row;
    }
  }
  return nullptr;
}

const Variant* find_variant(const VariantId& id, Backend backend, Direction direction) {
  for (const Variant& row : catalog()) {
    if (row.backend == backend && computes(row, direction) && row.name == id.name &&
        same_stages(row.stages, id.stages)) {
      return &row;
    }
  }
  return nullptr;
}

std::vector<VariantId> ids_of(const Variant& variant) {
  VariantId bare;
  bare.name = std::string(variant.name);
  bare.stages.clear();
  for (const Stage stage : variant.stages) bare.stages.emplace_back(to_string(stage));
  std::vector<VariantId> ids{bare};
  for (const Coordinate& coordinate : variant.coordinates) {
    std::vector<VariantId> wider;
    for (const VariantId& id : ids) {
      for (const std::int64_t value : coordinate.values) {
        wider.push_back(id);
        wider.back().point.emplace_back(coordinate.name, value);
      }
    }
    ids = std::move(wider);
  }
  return ids;
}

std::string stages_text(std::span<const Stage> stages) {
  std::string text;
  for (const Stage stage : stages) text.append(text.empty() ? "" : "+").append(to_string(stage));
  return text;
}

bool reads(const Variant& variant, std::string_view input) noexcept {
  return std::ranges::find(variant.ignores, input) == variant.ignores.end();
}

}  // namespace nsa
