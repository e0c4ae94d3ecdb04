// Telemetry rows inside of a transaction of the caller's.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include "nsa/store/store.hpp"

namespace nsa::store {

/// The same id again is ignored.
void put_telemetry(SQLite::Database& db, const TelemetryRow& telemetry);

}  // namespace nsa::store
