// Telemetry rows of the runtime, beside the measurements.
#include "run_row.hpp"

#include "nsa/schemas/error.hpp"
#include "row.hpp"
#include "state.hpp"

namespace nsa::store {

void put_telemetry(SQLite::Database& db, const TelemetryRow& telemetry) {
  SQLite::Statement insert(db,
                           "INSERT INTO telemetry (id, run_id, recorded_at, command, report) "
                           "VALUES (?,?,?,?,?) ON CONFLICT (id) DO NOTHING");
  std::optional<std::string> run_id;
  if (!telemetry.run_id.empty()) run_id = telemetry.run_id;
  bind_values(insert, telemetry.id, run_id, telemetry.recorded_at, telemetry.command,
              telemetry.report.dump());
  insert.exec();
}

void Store::add(const TelemetryRow& telemetry) {
  expects(!telemetry.id.empty(), "telemetry with an id");
  state_->use([&](SQLite::Database& db) { put_telemetry(db, telemetry); });
}

std::vector<TelemetryRow> Store::telemetry(const std::optional<std::string>& run_id) const {
  return state_->use([&](SQLite::Database& db) {
    SQLite::Statement query(db,
                            "SELECT id, coalesce(run_id, ''), recorded_at, command, report FROM "
                            "telemetry WHERE ?1 IS NULL OR run_id = ?1 ORDER BY recorded_at, id");
    bind_values(query, run_id);
    std::vector<TelemetryRow> found;
    while (query.executeStep()) {
      Row row(query, state_->path + ": telemetry");
      TelemetryRow telemetry;
      telemetry.id = row.text();
      telemetry.run_id = row.text();
      telemetry.recorded_at = row.text();
      telemetry.command = row.text();
      telemetry.report = Json::parse(row.text(), nullptr, false);
      if (telemetry.report.is_discarded()) {
        throw InputError(state_->path + ": telemetry " + telemetry.id +
                         " does not hold JSON; name another file");
      }
      found.push_back(std::move(telemetry));
    }
    return found;
  });
}

}  // namespace nsa::store
