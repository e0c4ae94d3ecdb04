#include "nsa/trace/diff_json.hpp"

namespace nsa::trace {
namespace {

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(const DiffRow& row) {
  return {{"name", row.name},
          {"unit", row.unit},
          {"verdict", to_text(row.verdict)},
          {"ratio", or_null(row.ratio)},
          {"low", or_null(row.low)},
          {"high", or_null(row.high)},
          {"count_a", row.count_a},
          {"count_b", row.count_b},
          {"total_ns_a", row.total_ns_a},
          {"total_ns_b", row.total_ns_b}};
}

Json list(const std::vector<DiffRow>& rows) {
  Json j = Json::array();
  for (const DiffRow& row : rows) j.push_back(to_json(row));
  return j;
}

}  // namespace

Json to_document(const TraceDiff& diff) {
  return {
      {"schema_version", 1},         {"path_a", diff.path_a},
      {"path_b", diff.path_b},       {"verdict", to_text(diff.verdict)},
      {"reasons", diff.reasons},     {"notes", diff.notes},
      {"margin", diff.margin},       {"steps", diff.steps ? to_json(*diff.steps) : Json(nullptr)},
      {"stages", list(diff.stages)}, {"kernels", list(diff.kernels)}};
}

}  // namespace nsa::trace
