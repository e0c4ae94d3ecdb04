// Results of `nsatune run`, each with a run of its own, so that they carry their environment and
// go where the run goes.
#include "nsa/schemas/error.hpp"
#include "row.hpp"
#include "run_row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

std::string text_of(const Json& document) {
  // File names in it are any bytes.
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool put_result(SQLite::Database& db, const RunResult& result) {
  SQLite::Statement insert(db,
                           "INSERT INTO run_result (id, run_id, recorded_at, command, report) "
                           "VALUES (?,?,?,?,?) ON CONFLICT (id) DO NOTHING");
  bind_values(insert, result.id, result.run_id, result.recorded_at, result.command,
              text_of(result.report));
  return insert.exec() == 1;
}

bool has_run(SQLite::Database& db, const std::string& id) {
  SQLite::Statement query(db, "SELECT 1 FROM run WHERE id = ?");
  bind_values(query, id);
  return query.executeStep();
}

}  // namespace

void Store::add(const Run& run, const std::vector<Capability>& libraries, const RunResult& result) {
  expects(run.id == result.run_id && !result.id.empty(), "a result of that run");
  expects(run.state != RunState::open, "a run that has ended");
  state_->use([&](SQLite::Database& db) {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    if (!has_run(db, run.id)) {
      Run stored = run;
      stored.environment_hash = environment_hash(run.environment);
      put_run(db, stored);
      put_libraries(db, run.id, libraries);
    }
    const auto counted = result.report.find("telemetry");
    const bool added = put_result(db, result);
    if (added && counted != result.report.end())
      put_telemetry(db, {make_uuid(), run.id, result.recorded_at, result.command, *counted});
    transaction.commit();
  });
}

std::vector<RunResult> get_run_results(SQLite::Database& db, const std::string& path,
                                       const std::optional<std::string>& run_id) {
  SQLite::Statement query(db,
                          "SELECT id, run_id, recorded_at, command, report FROM run_result WHERE "
                          "?1 IS NULL OR run_id = ?1 ORDER BY recorded_at DESC, id");
  bind_values(query, run_id);
  std::vector<RunResult> found;
  while (query.executeStep()) {
    Row row(query, path + ": run_result");
    RunResult& result = found.emplace_back();
    result.id = row.text();
    result.run_id = row.text();
    result.recorded_at = row.text();
    result.command = row.text();
    const std::string where = path + ": result " + result.id;
    result.report = parse_json(row.text(), where);
    validate_json(result.report, "run_result", where);
  }
  return found;
}

std::vector<RunResult> Store::run_results(const std::optional<std::string>& run_id) const {
  return state_->use(
      [&](SQLite::Database& db) { return get_run_results(db, state_->path, run_id); });
}

}  // namespace nsa::store
