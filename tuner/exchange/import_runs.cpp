// Rows of a file as runs of the database: ids are made of the content, so that the same file
// again is the same run again.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include <fmt/format.h>

#include "nsa/exchange/exchange.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/text.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

/// A UUID (version 8) that is a function of `content`.
std::string uuid_of(const std::string& content) {
  std::string hex = hash_hex("a" + content) + hash_hex("b" + content);
  hex[12] = '8';
  hex[16] = 'a';
  return fmt::format("{}-{}-{}-{}-{}", hex.substr(0, 8), hex.substr(8, 4), hex.substr(12, 4),
                     hex.substr(16, 4), hex.substr(20, 12));
}

/// "2026-11-22": clocks of other machines may be ahead by hours.
std::string tomorrow() {
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const std::chrono::year_month_day date(today + std::chrono::days(1));
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

/// The newest run of a device decides, so none is of a time that is yet to come.
void refuse_future(const Run& run) {
  if (run.started_at.substr(0, 10) > tomorrow())
    throw InputError("run " + run.id + " started at " + run.started_at +
                     ", which is yet to come; the newest run of a device decides: correct the time "
                     "of the file");
}

Json pairs_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json object = Json::object();
  for (const auto& [key, value] : pairs) object[key] = value;
  return object;
}

/// What decides which rows a file gives: the file's content and what the user says of it.
Json identity(const Provenance& p) {
  Json j{{"format", p.format}, {"hash", p.content_hash}};
  if (p.mapping.executor) j["executor"] = *p.mapping.executor;
  if (p.mapping.device) j["device"] = *p.mapping.device;
  if (p.mapping.stage) j["stage"] = *p.mapping.stage;
  if (p.mapping.variant) j["variant"] = *p.mapping.variant;
  if (!p.mapping.axes.empty()) j["axes"] = pairs_json(p.mapping.axes);
  if (!p.mapping.fixed.empty()) j["fixed"] = pairs_json(p.mapping.fixed);
  return j;
}

Run run_of(const Provenance& provenance, const std::string& source_run,
           const std::vector<std::string>& notes) {
  Json spec = identity(provenance);
  if (!source_run.empty()) spec["source_run"] = source_run;
  Run run;
  run.spec_hash = hash_hex(spec.dump(-1, ' ', false, Json::error_handler_t::replace));
  run.id = uuid_of(run.spec_hash + spec.dump(-1, ' ', false, Json::error_handler_t::replace));
  spec["file"] = visible(provenance.file);
  spec["notes"] = notes;
  run.spec_json = Json{{"import", spec}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  run.build_id = provenance.build_id;
  run.state = RunState::complete;
  run.ended_at = now_iso8601();
  run.started_at = *run.ended_at;
  return run;
}

/// Ids for a row that has none; a time that is none is left out.
void complete(Measurement& row, const Run& run, std::size_t index, const Mapping& mapping) {
  row.run_id = run.id;
  const std::string own = run.id + "/" + std::to_string(index);
  if (row.id.empty()) row.id = uuid_of(own);
  if (row.job_key.empty()) row.job_key = hash_hex(own);
  if (mapping.executor) row.executor = *mapping.executor;
  if (!is_time(row.measured_at)) row.measured_at.clear();
}

void add_devices(Run& run, const std::vector<Measurement>& rows,
                 const std::vector<Device>& devices) {
  std::set<std::string> named;
  for (const Measurement& row : rows) {
    for (const Placed& placed : row.placement) named.insert(placed.device_uuid);
  }
  for (const Device& device : devices) {
    if (named.erase(device.uuid) > 0) run.devices.push_back(device);
  }
}

/// Never in the future: the newest run of a device is the one that decides.
void date(Run& run, const std::vector<Measurement>& rows) {
  for (const Measurement& row : rows) {
    if (!row.measured_at.empty()) run.started_at = std::min(run.started_at, row.measured_at);
  }
}

void require_distinct(const std::vector<Measurement>& rows) {
  std::set<std::string> ids;
  for (const Measurement& row : rows) {
    if (!row.id.empty() && !ids.insert(row.id).second)
      throw InputError("the id " + row.id.substr(0, 80) + " appears twice");
  }
}

/// The run as the file carries it, or null: what the user says of the rows makes others of them.
const RunHead* whole_run(const Imported& imported, const std::string& id, const Mapping& mapping) {
  if (mapping.executor || id.empty()) return nullptr;
  const auto at = std::find_if(imported.runs.begin(), imported.runs.end(),
                               [&](const RunHead& head) { return head.run.id == id; });
  return at == imported.runs.end() || !is_time(at->run.started_at) ? nullptr : &*at;
}

}  // namespace

std::vector<store::RunWithRows> import_runs(Imported imported, const Provenance& provenance) {
  require_distinct(imported.rows);
  std::map<std::string, std::vector<Measurement>> by_run;
  for (Measurement& row : imported.rows) by_run[row.run_id].push_back(std::move(row));
  std::vector<store::RunWithRows> runs;
  for (auto& [source_run, rows] : by_run) {
    if (const RunHead* whole = whole_run(imported, source_run, provenance.mapping)) {
      refuse_future(whole->run);
      runs.push_back({whole->run, std::move(rows), whole->libraries});
      continue;
    }
    store::RunWithRows one{run_of(provenance, source_run, imported.notes), std::move(rows)};
    // Rows without ids of their own are what a format makes of many.
    if (!provenance.mapping.executor && one.rows.front().id.empty()) one.sums_up = source_run;
    for (std::size_t i = 0; i < one.rows.size(); ++i)
      complete(one.rows[i], one.run, i, provenance.mapping);
    add_devices(one.run, one.rows, imported.devices);
    date(one.run, one.rows);
    runs.push_back(std::move(one));
  }
  return runs;
}

}  // namespace nsa::exchange
