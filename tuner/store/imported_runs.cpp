// Runs from elsewhere with all their rows, in one transaction: all of them or none.
#include "nsa/schemas/error.hpp"
#include "rows/measurement_row.hpp"
#include "rows/row.hpp"
#include "rows/run_row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

bool has(SQLite::Database& db, const char* table, const std::string& id) {
  SQLite::Statement query(db, std::string("SELECT 1 FROM ") + table + " WHERE id = ?");
  bind_values(query, id);
  return query.executeStep();
}

/// An id stands for one spec in one environment.
void refuse_another(const Run& there, const Run& run) {
  if (there.spec_hash == run.spec_hash && there.environment_hash == run.environment_hash) return;
  throw InputError("run " + run.id +
                   " is another one in the database than in the file; leave the file out");
}

/// The run with those of its rows that are new; a run of which nothing is new stays away.
void add_run(SQLite::Database& db, const RunWithRows& of, Added& added) {
  const auto& [run, rows, libraries, sums_up] = of;
  if (!sums_up.empty() && has(db, "run", sums_up)) {
    added.known += static_cast<std::int64_t>(rows.size());
    return;
  }
  std::vector<const Measurement*> fresh;
  for (const Measurement& row : rows) {
    if (!has(db, "measurement", row.id)) fresh.push_back(&row);
  }
  added.known += static_cast<std::int64_t>(rows.size() - fresh.size());
  if (fresh.empty()) return;
  Run stored = run;
  stored.environment_hash = environment_hash(run.environment);
  const std::vector<Run> there = get_runs(db, "", "id = ?", {run.id});
  if (!there.empty()) {
    refuse_another(there.front(), stored);
  } else {
    put_run(db, stored);
    put_libraries(db, run.id, libraries);
    ++added.runs;
  }
  forget_series(db, run.id);
  MeasurementWriter writer(db);
  for (const Measurement* row : fresh) ++(writer.put(*row) ? added.rows : added.known);
}

}  // namespace

Added Store::add_runs(const std::vector<RunWithRows>& runs) {
  for (const auto& [run, rows, libraries, sums_up] : runs) {
    for (const Measurement& row : rows)
      expects(row.run_id == run.id && row.samples.size() == static_cast<std::size_t>(row.samples_n),
              "rows of their run, with samples_n samples");
  }
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    Added added;
    for (const RunWithRows& run : runs) add_run(db, run, added);
    transaction.commit();
    keep_series(db, state_->path);
    return added;
  });
}

}  // namespace nsa::store
