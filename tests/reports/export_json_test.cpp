// The JSON export obeys its schema and reads back.
#include "catch.hpp"
#include "nsa/reports/export.hpp"
#include "nsa/reports/tables.hpp"
#include "samples.hpp"

using namespace nsa::reports;

namespace {

/// As the store gives them: every field that a row must have.
std::vector<nsa::Measurement> stored() {
  auto rows = visits("masked", 512, 1000);
  rows[0].samples = {{1, 2, 3, {}}, {4, 5, 6, 7}};
  rows[1].outcome = nsa::Outcome::crashed;
  rows[1].reason = "signal 11\xff";
  for (auto& row : rows) row.job_key = "0123456789abcdef";
  return rows;
}

}  // namespace

TEST_CASE("the JSON export obeys its schema and keeps every row", "[reports]") {
  const auto rows = stored();
  nsa::Run run;
  run.id = "run-1";
  run.spec_hash = "1";
  run.spec_json = "{}";
  run.build_id = "0.1.0";
  run.environment_hash = "2";
  run.started_at = "2026-11-21T10:00:00.000Z";
  const std::vector<nsa::Run> runs{run};
  const nsa::Json document = measurements_json(rows, runs, "nsatune 0.1.0");
  nsa::validate_json(document, "export_results", "export");
  CHECK(document["exported_by"] == "nsatune 0.1.0");
  REQUIRE(document["measurements"].size() == rows.size());
  nsa::Measurement back;
  from_json(document["measurements"][0], back);
  CHECK(back.samples == rows[0].samples);
  CHECK(back.variant == rows[0].variant);
}

TEST_CASE("an export without rows is a valid document", "[reports]") {
  nsa::validate_json(measurements_json({}), "export_results", "export");
}
