#include "tables.hpp"

#include <algorithm>

namespace nsa::cli {
namespace {

Json result_json(const store::RunResult& result) {
  Json json{{"recorded_at", result.recorded_at}, {"command", result.command}};
  const auto put = [&](const char* key, const Json::json_pointer& from) {
    json[key] = result.report.contains(from) ? result.report[from] : Json();
  };
  for (const char* key : {"tokens_per_s", "share_of_peak", "memory", "slow_path_calls", "fallback"})
    put(key, Json::json_pointer() / key);
  put("device", "/device/name"_json_pointer);
  put("grow_events", "/telemetry/grow_events"_json_pointer);
  return json;
}

}  // namespace

Json run_results_json(const store::Store& db, std::size_t most) {
  std::vector<store::RunResult> results = db.run_results();
  std::ranges::sort(results, std::ranges::greater(), &store::RunResult::recorded_at);
  Json list = Json::array();
  for (const store::RunResult& result : results) {
    if (list.size() < most) list.push_back(result_json(result));
  }
  return list;
}

}  // namespace nsa::cli
