#include "catalog/composite_hash.hpp"

#include <algorithm>

#include "nsa/kernels/directions.hpp"
#include "nsa/schemas/json.hpp"
#include "runtime/composite/stages.hpp"
#include "source_hashes.hpp"

namespace nsa {
namespace {

/// Whether all stages of `row` are among those that the plan leaves open.
bool is_open(const Variant& row, std::span<const Stage> open) {
  return std::ranges::all_of(
      row.stages, [&](Stage stage) { return std::ranges::find(open, stage) != open.end(); });
}

/// Stages of the composite that no part names and its own kernel does not compute.
std::vector<Stage> open_stages(const Variant& composite) {
  std::vector<Stage> open;
  for (const Stage stage : stages_within(composite)) {
    const CompositePlan& plan = composite.plan;
    const bool covered = std::ranges::find(plan.covers, stage) != plan.covers.end();
    if (!plan.part(stage) && !covered) open.push_back(stage);
  }
  return open;
}

/// Whether a launch of the composite can run the row for one of its `open` stages. The backward
/// pass may take a row of another name than the one that a part names.
bool runs(const Variant& composite, const Variant& row, std::span<const Stage> open) {
  if (composite.direction != kForwardBackward)
    return row.direction == composite.direction && is_open(row, open);
  return is_open(row, row.direction == Direction::backward ? stages_within(composite) : open);
}

std::string combined(const Variant& composite, const std::vector<Variant>& rows) {
  const std::string_view of_backend =
      composite.backend == Backend::cpu ? source_hash::runtime_cpu : source_hash::runtime_cuda;
  std::string text = std::string(composite.source_hash) + std::string(source_hash::runtime) +
                     std::string(of_backend);
  for (const Part& part : composite.plan.parts) text += part.row->source_hash;
  const std::vector<Stage> open = open_stages(composite);
  for (const Variant& row : rows) {
    if (row.backend != composite.backend || row.role != Role::candidate || is_composite(row) ||
        !runs(composite, row, open)) {
      continue;
    }
    text += row.source_hash;
  }
  return hash_hex(text).substr(0, 16);
}

}  // namespace

void hash_composites(std::vector<Variant>& rows, std::deque<std::string>& kept) {
  // Composites that others name come first: attention before layer before model.
  for (Variant& row : rows) {
    if (is_composite(row)) row.source_hash = kept.emplace_back(combined(row, rows));
  }
}

}  // namespace nsa
