// Runs with their environment and devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/run.hpp"
#include "nsa/store/store.hpp"

namespace nsa::store {

/// Inserts the run, its environment and its devices, within the caller's transaction.
void put_run(SQLite::Database& db, const Run& run);

/// What the probes of libraries said when a run began.
void put_libraries(SQLite::Database& db, const std::string& run_id,
                   const std::vector<Capability>& libraries);
std::vector<Capability> get_libraries(SQLite::Database& db, const std::string& run_id);

/// Results of the command `run`, newest first; of one run where it is named. InputError with `path`
/// on one that obeys no schema.
std::vector<RunResult> get_run_results(SQLite::Database& db, const std::string& path,
                                       const std::optional<std::string>& run_id);

/// Runs that fulfil `condition` (SQL over `run r`, its parameters in order), newest first.
std::vector<Run> get_runs(SQLite::Database& db, const std::string& path,
                          const std::string& condition, const std::vector<std::string>& parameters);

/// The run whose id is `id_or_prefix` or alone begins with it; InputError when several do.
std::optional<Run> get_run(SQLite::Database& db, const std::string& path,
                           const std::string& id_or_prefix);

/// The same id again is ignored.
void put_telemetry(SQLite::Database& db, const TelemetryRow& telemetry);

}  // namespace nsa::store
