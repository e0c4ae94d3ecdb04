#include "columns.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>
#include <string_view>
#include <type_traits>

#include "nsa/schemas/fields/measurement.hpp"
#include "nsa/schemas/variant_text.hpp"

namespace nsa::reports {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }
std::string text(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }
std::string text(const std::string& value) { return value; }
std::string text(bool value) { return value ? "true" : "false"; }
std::string text(const std::vector<std::int64_t>& list) {
  return fmt::format("{}", fmt::join(list, ";"));
}
template <class Enum>
requires std::is_enum_v<Enum> std::string text(Enum value) { return std::string(to_string(value)); }
template <class T>
std::string text(const std::optional<T>& value) {
  return value ? text(*value) : std::string();
}

/// A job key means nothing outside of its database. Files were written without vocab_size from the
/// first on.
bool is_left_out(std::string_view column) { return column == "job_key" || column == "vocab_size"; }

/// A field is a cell of its name; a struct within has its cells among the others, after "<name>_"
/// where it may be absent. Raw samples have a file of their own.
class Cells {
 public:
  template <class T>
  void add_fields(const T& object, const std::string& prefix = {}) {
    fields::each_field(object, [&](const auto& field, const auto& value) {
      const std::string column = prefix + field.name;
      if (!is_left_out(column)) add(column, value);
    });
  }
  void put(std::string column, std::string value) {
    cells_.push_back({std::move(column), std::move(value)});
  }
  std::vector<CsvCell> take() { return std::move(cells_); }

 private:
  template <class T>
  void add(const std::string& column, const T& value) {
    if constexpr (fields::Described<T>) {
      add_fields(value);
    } else {
      put(column, text(value));
    }
  }
  template <fields::Described Part>
  void add(const std::string& column, const std::optional<Part>& part) {
    if (part) return add_fields(*part, column + "_");
    const Part none{};
    fields::each_field(none,
                       [&](const auto& field, const auto&) { put(column + "_" + field.name, ""); });
  }
  void add(const std::string&, const Placement& placement) {
    add_fields(placement.empty() ? Placed{} : placement[0]);
  }
  void add(const std::string& column, const std::vector<std::int64_t>& lengths) {
    if (column == "seq_lens") put("batch", text(static_cast<std::int64_t>(lengths.size())));
    put(column, text(lengths));
  }
  void add(const std::string&, const VariantId& variant) {
    put("stages", fmt::format("{}", fmt::join(variant.stages, "+")));
    put("variant", variant.name);
    put("point", point_text(variant.point));
  }
  void add(const std::string&, const std::vector<Sample>&) {}

  std::vector<CsvCell> cells_;
};

std::string device_name(const Measurement& m, const Run& run) {
  if (m.placement.empty()) return "";
  for (const Device& device : run.devices) {
    if (device.uuid == m.placement[0].device_uuid) return device.name;
  }
  return "";
}

}  // namespace

std::vector<CsvCell> cells_of(const Measurement& row, const Run* run) {
  Cells cells;
  cells.add_fields(row);
  cells.put("device", run ? device_name(row, *run) : "");
  cells.put("run_started_at", run ? run->started_at : "");
  cells.put("build_id", run ? run->build_id : "");
  cells.put("environment_hash", run ? run->environment_hash : "");
  return cells.take();
}

}  // namespace nsa::reports
