#include "page_runtime.hpp"

namespace nsa::cli {

Json runtime_json(const store::Store& db, std::size_t most) {
  const std::vector<store::TelemetryRow> rows = db.telemetry(std::nullopt);
  Json list = Json::array();
  for (auto row = rows.rbegin(); row != rows.rend() && list.size() < most; ++row) {
    Json json{{"recorded_at", row->recorded_at}, {"command", row->command}};
    for (const char* key :
         {"peak_workspace_bytes", "grow_events", "slow_path_calls", "engaged", "fallback"})
      json[key] = row->report.is_object() ? row->report.value(key, Json()) : Json();
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace nsa::cli
