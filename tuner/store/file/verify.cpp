// Is the file whole? And making it small again.
#include "verify.hpp"

#include <fmt/core.h>

#include "nsa/schemas/error.hpp"
#include "rows/measurement_row.hpp"
#include "rows/run_row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

void check_pages(SQLite::Database& db, std::vector<std::string>& problems) {
  SQLite::Statement check(db, "PRAGMA integrity_check");
  while (check.executeStep()) {
    const std::string line = check.getColumn(0).getString();
    if (line != "ok") problems.push_back("integrity: " + line);
  }
}

void check_references(SQLite::Database& db, std::vector<std::string>& problems) {
  SQLite::Statement check(db, "PRAGMA foreign_key_check");
  while (check.executeStep()) {
    problems.push_back(fmt::format("reference: a row of {} names a missing {}",
                                   check.getColumn(0).getString(), check.getColumn(2).getString()));
  }
  SQLite::Statement placements(db,
                               "SELECT id FROM measurement m WHERE NOT EXISTS (SELECT 1 FROM "
                               "placement l WHERE l.id = m.placement_id)");
  while (placements.executeStep()) {
    problems.push_back("reference: measurement " + placements.getColumn(0).getString() +
                       " names a missing placement");
  }
}

/// What cannot be read of the rows that are no measurements.
template <class Read>
void check_others(std::vector<std::string>& problems, Read read) {
  try {
    read();
  } catch (const InputError& error) {
    problems.push_back(error.what());
  }
}

/// Reads every row as the other functions would, so that whatever they would refuse is listed.
void check_rows(SQLite::Database& db, const std::string& path, std::vector<std::string>& problems) {
  SQLite::Statement rows(db, MeasurementReader::select(true));
  MeasurementReader reader(db, path);
  while (rows.executeStep()) {
    try {
      const Measurement& m = reader.read(rows);
      const bool pruned = rows.getColumn(rows.getColumnCount() - 1).getBytes() == 0;
      if (!pruned && m.samples.size() != static_cast<std::size_t>(m.samples_n)) {
        problems.push_back(fmt::format("measurement {}: samples_n is {}, but it has {} samples",
                                       m.id, m.samples_n, m.samples.size()));
      }
    } catch (const InputError& error) {
      problems.push_back(error.what());
    }
  }
  check_others(problems, [&] { get_runs(db, path, "1", {}); });
  check_others(problems, [&] { get_run_results(db, path, std::nullopt); });
}

}  // namespace

std::vector<std::string> problems_of(SQLite::Database& db, const std::string& path) {
  std::vector<std::string> problems;
  try {
    check_pages(db, problems);
    check_references(db, problems);
    check_rows(db, path, problems);
    check_others(problems, [&] {
      for (const std::string& run : runs_with_wrong_series(db, path))
        problems.push_back("run " + run + ": its kept series are not those of its rows");
    });
  } catch (const SQLite::Exception& error) {
    if (problems.empty()) throw;
    problems.push_back(error.what());  // a page that could not be read ends the search
  }
  return problems;
}

std::vector<std::string> Store::verify() const {
  return state_->use([&](SQLite::Database& db) { return problems_of(db, state_->path); });
}

void Store::compact() {
  guarded(state_->path, [&] {
    // A connection of its own, so that it also works for a store that was opened for reading.
    Connection connection(state_->path, Access::read_write, state_->options);
    connection.set_synchronous();
    connection.db().exec("VACUUM");
    connection.db().exec("PRAGMA wal_checkpoint(TRUNCATE)");
  });
}

}  // namespace nsa::store
