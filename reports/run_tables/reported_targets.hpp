// reported_targets.json, as it was when this was configured.
#pragma once

namespace nsa::run_tables {

extern const char* const kReportedTargets;

}  // namespace nsa::run_tables
