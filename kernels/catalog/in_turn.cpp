#include "catalog/in_turn.hpp"

#include <algorithm>
#include <deque>
#include <string>

#include "source_hashes.hpp"

namespace nsa {
namespace {

using Chosen = std::vector<const Variant*>;  // one row for each stage

std::vector<Chosen> combinations(std::span<const Variant> rows, const Variant& whole) {
  std::vector<Chosen> all{{}};
  for (const Stage stage : whole.stages) {
    std::vector<Chosen> longer;
    for (const Chosen& chosen : all) {
      for (const Variant& row : rows) {
        if (row.backend != whole.backend || row.direction != whole.direction ||
            row.stages.size() != 1 || row.stages[0] != stage || row.role != Role::candidate ||
            row.precision != Precision::native) {
          continue;
        }
        longer.push_back(chosen);
        longer.back().push_back(&row);
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// Texts and parts, which the rows borrow.
struct Kept {
  std::string name, summary;
  std::vector<Part> parts;
};

Kept describe(const Chosen& chosen) {
  Kept kept;
  for (const Variant* row : chosen) {
    const std::string name(row->name);
    kept.name += (kept.name.empty() ? "" : "+") + name;
    kept.summary += (kept.summary.empty() ? "`" : ", then `") + name + "`";
    kept.parts.push_back({row->stages.front(), row->name});
  }
  kept.summary += ", one after the other.";
  return kept;
}

Variant row_in_turn(const Variant& whole, const Chosen& chosen, const Kept& kept) {
  Variant row{.stages = whole.stages,
              .name = kept.name,
              .backend = whole.backend,
              .dtypes = ~0u,
              .summary = kept.summary,
              .cost = whole.cost,
              .launch = launch_in_turn,
              .source_hash = source_hash::in_turn,
              .plan = {.mode = CompositePlan::Mode::in_turn, .parts = kept.parts},
              .direction = whole.direction};
  row.rank = 1;  // after the rows that make one pass of it
  for (const Variant* part : chosen) {
    row.dtypes &= part->dtypes;
    row.min_compute_capability = std::max(row.min_compute_capability, part->min_compute_capability);
    row.rank += part->rank;
    row.waits_for_host |= part->waits_for_host;
    if (!part->launch) row.launch = nullptr;
  }
  return row;
}

}  // namespace

std::vector<Variant> rows_in_turn(std::span<const Variant> rows) {
  static std::deque<Kept> kept;  // for the life of the process, as the tables are
  std::vector<Variant> made;
  for (const Variant& whole : rows) {
    const auto same_span = [&](const Variant& row) {
      return row.backend == whole.backend && row.direction == whole.direction &&
             std::ranges::equal(row.stages, whole.stages);
    };
    if (whole.stages.size() < 2 || std::ranges::any_of(made, same_span)) continue;
    for (const Chosen& chosen : combinations(rows, whole)) {
      made.push_back(row_in_turn(whole, chosen, kept.emplace_back(describe(chosen))));
    }
  }
  return made;
}

}  // namespace nsa
