// The counters as a document: schemas/json/telemetry.schema.json.
#include "nsa/kernels/documents.hpp"
#include "nsa/schemas/fields/json.hpp"

namespace nsa {
namespace {

using Counts = std::map<std::pair<std::string, std::string>, std::int64_t>;

/// [{"stage": ..., <key>: ..., "calls": ...}]
Json counts_json(const Counts& counts, const char* key) {
  Json list = Json::array();
  for (const auto& [names, calls] : counts)
    list.push_back({{"stage", names.first}, {key, names.second}, {"calls", calls}});
  return list;
}
Json engaged_of(const TelemetryReport& r) { return counts_json(r.engaged, "variant"); }
Json fallback_of(const TelemetryReport& r) { return counts_json(r.fallback, "reason"); }
Json unmeasured_of(const TelemetryReport& r) { return counts_json(r.unmeasured, "basis"); }

Json histogram_of(const TelemetryReport& r) {
  Json list = Json::array();
  for (const auto& [up_to, rows] : r.row_length_histogram)
    list.push_back({{"up_to_tokens", up_to}, {"rows", rows}});
  return list;
}

}  // namespace

namespace fields {

template <>
inline constexpr auto kFields<LengthCount> =
    std::tuple{required("phase", &LengthCount::phase), required("tokens", &LengthCount::tokens),
               required("calls", &LengthCount::calls)};

template <>
inline constexpr auto kFields<TelemetryReport> =
    std::tuple{required("engaged", engaged_of),
               required("fallback", fallback_of),
               required("unmeasured", unmeasured_of),
               required("lengths", &TelemetryReport::lengths),
               required("slow_path_calls", &TelemetryReport::slow_path_calls),
               required("grow_events", &TelemetryReport::grow_events),
               required("need", &TelemetryReport::need),
               required("peak_workspace_bytes", &TelemetryReport::peak_workspace_bytes),
               required("reads_pred", &TelemetryReport::reads_pred),
               required("reads_act", &TelemetryReport::reads_act),
               required("sel_rows", &TelemetryReport::sel_rows),
               required("sel_k_mean", &TelemetryReport::sel_k_mean),
               required("sel_k_max", &TelemetryReport::sel_k_max),
               required("sel_pct_at_max", &TelemetryReport::sel_pct_at_max),
               optional("overlap", &TelemetryReport::overlap),
               required("row_length_histogram", histogram_of)};

}  // namespace fields

Json telemetry_to_json(const TelemetryReport& report) { return fields::object_of(report); }

std::string to_json_text(const TelemetryReport& report) {
  return telemetry_to_json(report).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nsa
