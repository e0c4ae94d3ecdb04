// The counters as a document: schemas/json/telemetry.schema.json.
#include "nsa/kernels/documents.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa {
namespace {

using Counts = std::map<std::pair<std::string, std::string>, std::int64_t>;

/// [{"stage": ..., <key>: ..., "calls": ...}]
Json counts_json(const Counts& counts, const char* key) {
  Json list = Json::array();
  for (const auto& [names, calls] : counts) {
    Json j = Json::object();
    j["stage"] = names.first;
    j[key] = names.second;
    j["calls"] = calls;
    list.push_back(std::move(j));
  }
  return list;
}

Json lengths_json(const TelemetryReport& report) {
  Json list = Json::array();
  for (const LengthCount& length : report.lengths) {
    Json j = Json::object();
    j["phase"] = to_string(length.phase);
    j["tokens"] = length.tokens;
    j["calls"] = length.calls;
    list.push_back(std::move(j));
  }
  return list;
}

Json histogram_json(const TelemetryReport& report) {
  Json list = Json::array();
  for (const auto& [up_to, rows] : report.row_length_histogram) {
    Json j = Json::object();
    j["up_to_tokens"] = up_to;
    j["rows"] = rows;
    list.push_back(std::move(j));
  }
  return list;
}

}  // namespace

Json telemetry_to_json(const TelemetryReport& report) {
  Json j = Json::object();
  j["engaged"] = counts_json(report.engaged, "variant");
  j["fallback"] = counts_json(report.fallback, "reason");
  j["unmeasured"] = counts_json(report.unmeasured, "basis");
  j["lengths"] = lengths_json(report);
  j["slow_path_calls"] = report.slow_path_calls;
  j["grow_events"] = report.grow_events;
  to_json(j["need"], report.need);
  j["peak_workspace_bytes"] = report.peak_workspace_bytes;
  j["reads_pred"] = report.reads_pred;
  j["reads_act"] = report.reads_act;
  j["sel_rows"] = report.sel_rows;
  j["sel_k_mean"] = report.sel_k_mean;
  j["sel_k_max"] = report.sel_k_max;
  j["sel_pct_at_max"] = report.sel_pct_at_max;
  if (report.overlap) j["overlap"] = *report.overlap;
  j["row_length_histogram"] = histogram_json(report);
  return j;
}

std::string to_json_text(const TelemetryReport& report) {
  return telemetry_to_json(report).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nsa
