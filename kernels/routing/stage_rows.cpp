#include "stage_rows.hpp"

#include "nsa/schemas/error.hpp"

namespace nsa::routing {
namespace {

std::string device_words(const Device& device) {
  return device.compute_capability ? device.id + " (compute capability " +
                                         std::to_string(*device.compute_capability) + ")"
                                   : device.id;
}

Row make_row(const Variant& variant, const Device& device) {
  Row row;
  row.variant = &variant;
  for (VariantId& id : ids_of(variant)) row.points.push_back(std::move(id.point));
  const std::string name(variant.name);
  row.unsupported = name + ": does not support this problem";
  if (!variant.launch) {
    row.unusable = name + ": not built into this program";
  } else if (device.compute_capability.value_or(0) < variant.min_compute_capability) {
    row.unusable = name + ": needs compute capability " +
                   std::to_string(variant.min_compute_capability) + ", not " + device_words(device);
  }
  row.usable = row.unusable.empty();
  return row;
}

}  // namespace

int StageRows::find(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].variant->name == name) return static_cast<int>(i);
  }
  return kNoRow;
}

int StageRows::find_any(std::initializer_list<std::string_view> names) const noexcept {
  for (const std::string_view name : names) {
    if (const int row = find(name); row != kNoRow) return row;
  }
  return kNoRow;
}

RowSet StageRows::set_of(std::initializer_list<std::string_view> names) const noexcept {
  RowSet set = 0;
  for (const std::string_view name : names) {
    if (const int row = find(name); row != kNoRow) set |= bit(row);
  }
  return set;
}

RowSet StageRows::set_of_prefix(std::string_view prefix) const noexcept {
  RowSet set = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].variant->name.starts_with(prefix)) set |= bit(static_cast<int>(i));
  }
  return set;
}

StageRows make_stage_rows(Stage stage, std::span<const Variant> catalog, const Device& device) {
  StageRows result;
  result.stage = stage;
  for (const Variant& variant : catalog) {
    const bool here = variant.stages.size() == 1 && variant.stages.front() == stage;
    if (here && variant.backend == device.backend) {
      result.rows.push_back(make_row(variant, device));
    }
  }
  expects(result.rows.size() <= 64, "64 variants of a stage and back end at most");
  result.built_in = built_in_order(result);
  return result;
}

bool runs(const Row& row, const Problem& problem, const Device& device) noexcept {
  const Variant& variant = *row.variant;
  if (!row.usable || !(variant.dtypes & dtype_bit(problem.dtype))) return false;
  if (problem.direction != Direction::forward) return false;
  return !variant.supports || variant.supports(problem, device).supported;
}

std::string why_not(const Row& row, const Problem& problem, const Device& device) {
  if (!row.usable) return row.unusable;
  const Support support = supports(*row.variant, problem, device);
  return support.supported ? std::string() : support.reason;
}

}  // namespace nsa::routing
