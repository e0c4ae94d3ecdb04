// Joins the stage folders' tables into the one table.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "catalog/stages.hpp"

namespace nsa {
namespace {

std::vector<Variant> joined_tables() {
  std::vector<Variant> rows;
  for (const auto table : {project_rope_variants, compress_variants, score_variants,
                           ranges_variants, attend_compressed_variants, attend_selected_variants,
                           attend_window_variants, gate_combine_variants, out_proj_variants,
                           attention_variants, layer_variants, model_variants}) {
    std::vector<Variant> stage(table().begin(), table().end());
    std::stable_sort(stage.begin(), stage.end(),
                     [](const Variant& a, const Variant& b) { return a.backend < b.backend; });
    rows.insert(rows.end(), stage.begin(), stage.end());
  }
  return rows;
}

bool same_stages(std::span<const Stage> stages, const std::vector<std::string>& names) {
  return std::equal(stages.begin(), stages.end(), names.begin(), names.end(),
                    [](Stage stage, const std::string& name) { return to_string(stage) == name; });
}

std::string dtype_names(unsigned dtypes) {
  std::string names;
  for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    if (!(dtypes & dtype_bit(dtype))) continue;
    if (!names.empty()) names += ", ";
    names += to_string(dtype);
  }
  return names;
}

}  // namespace

std::span<const Variant> catalog() {
  static const std::vector<Variant> rows = joined_tables();
  return rows;
}

const Variant* find_variant(std::span<const Stage> stages, std::string_view name, Backend backend) {
  for (const Variant& row : catalog()) {
    if (row.backend == backend && row.name == name &&
        std::equal(row.stages.begin(), row.stages.end(), stages.begin(), stages.end())) {
      return &row;
    }
  }
  return nullptr;
}

const Variant* find_variant(const VariantId& id, Backend backend) {
  for (const Variant& row : catalog()) {
    if (row.backend == backend && row.name == id.name && same_stages(row.stages, id.stages)) {
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

Support supports(const Variant& variant, const Problem& problem, const Device& device) {
  const std::string name(variant.name);
  if (device.backend != variant.backend) {
    return Support::no(name + " runs on " + std::string(to_string(variant.backend)) +
                       " devices, and " + device.id + " is not one");
  }
  if (problem.direction != Direction::forward) {
    return Support::no(name + " computes the forward direction only");
  }
  if (!(variant.dtypes & dtype_bit(problem.dtype))) {
    return Support::no(name + " stores " + dtype_names(variant.dtypes) + ", not " +
                       std::string(to_string(problem.dtype)));
  }
  const int capability = device.compute_capability.value_or(0);
  if (capability < variant.min_compute_capability) {
    return Support::no(name + " needs compute capability " +
                       std::to_string(variant.min_compute_capability) + ", " + device.id + " has " +
                       std::to_string(capability));
  }
  return variant.supports ? variant.supports(problem, device) : Support::yes();
}

}  // namespace nsa
