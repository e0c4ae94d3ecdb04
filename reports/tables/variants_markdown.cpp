#include "nsa/kernels/directions.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/reports/variants_text.hpp"

namespace nsa::reports {
namespace {

std::string stages_text(const Variant& variant) {
  std::string text;
  for (const Stage stage : variant.stages) {
    text.append(text.empty() ? "" : "+").append(to_string(stage));
  }
  return text;
}

std::string backend_text(const Variant& variant) {
  std::string text{to_string(variant.backend)};
  const int cc = variant.min_compute_capability;
  if (cc > 0) text += " " + std::to_string(cc / 10) + "." + std::to_string(cc % 10) + " or later";
  return text;
}

std::string dtypes_text(const Variant& variant) {
  std::string text;
  for (const Dtype dtype : {Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    if (!(variant.dtypes & dtype_bit(dtype))) continue;
    text.append(text.empty() ? "" : ", ").append(to_string(dtype));
  }
  return text;
}

std::string points_text(const Variant& variant) {
  std::string text;
  for (const Coordinate& coordinate : variant.coordinates) {
    text.append(text.empty() ? "" : " ").append(coordinate.name);
    for (const std::int64_t& value : coordinate.values)
      text += (&value == coordinate.values.data() ? "=" : ",") + std::to_string(value);
  }
  return text;
}

std::string role_text(Role role) {
  switch (role) {
    case Role::candidate:
      return "candidate";
    case Role::slow_path:
      return "slow path";
    case Role::reduced_precision:
      return "reduced precision";
    case Role::baseline:
      return "baseline";
  }
  return "";
}

TextTable new_table() {
  TextTable table;
  for (const char* name : {"variant", "back end", "role", "dtypes", "points", "what it does"}) {
    table.add_column(name);
  }
  return table;
}

/// What a forward launch of the stages saves.
std::string saved_text(const Variant& row) {
  std::string names;
  for (const Stage stage : row.stages) {
    for (const TensorSpec& saved : saved_by(stage))
      names += (names.empty() ? "`" : ", `") + std::string(saved.name) + "`";
  }
  if (names.empty() || row.direction != Direction::forward) return {};
  return "In training a launch also writes " + names +
         " (fp32); contests of such launches have the direction `forward_saving`.\n\n";
}

}  // namespace

std::string variants_markdown(std::span<const Variant> variants) {
  std::string text = "# Variants\n\nGenerated from the one table of variants; do not edit.\n";
  for (std::size_t from = 0, to = 0; from < variants.size(); from = to) {
    const std::string stages = stages_text(variants[from]);
    const Direction direction = variants[from].direction;
    TextTable table = new_table();
    for (; to < variants.size() && stages_text(variants[to]) == stages &&
           variants[to].direction == direction;
         ++to) {
      const Variant& v = variants[to];
      table.add_row({"`" + std::string(v.name) + "`", backend_text(v), role_text(v.role),
                     dtypes_text(v), points_text(v), std::string(v.summary)});
    }
    const char* passes = direction == Direction::backward ? ", backward"
                         : direction == kForwardBackward  ? ", forward and backward"
                                                          : "";
    text += "\n## " + stages + passes + "\n\n" + saved_text(variants[from]) + table.markdown();
  }
  return text;
}

}  // namespace nsa::reports
