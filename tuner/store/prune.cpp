// Samples of old runs go, what was made of them stays. A run is one transaction, so that a kill
// leaves whole runs with or without their samples, and the same command goes on.
#include <fmt/core.h>

#include "file/file_lock.hpp"
#include "nsa/schemas/error.hpp"
#include "rows/row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

/// Rows whose samples can go: of runs that have ended, since a resume needs those of an open one.
constexpr const char* kRunsToPrune =
    "SELECT id FROM run r WHERE started_at < ?1 AND state <> 'open' AND EXISTS (SELECT 1 FROM "
    "measurement m WHERE m.run_id = r.id AND m.samples_n > 0 AND length(m.samples) > 0)";
constexpr const char* kCount =
    "SELECT count(*), coalesce(sum(samples_n), 0), coalesce(sum(length(samples)), 0) FROM "
    "measurement WHERE run_id = ?1 AND samples_n > 0 AND length(samples) > 0";
constexpr const char* kDrop =
    "UPDATE measurement SET samples = x'' WHERE run_id = ?1 AND samples_n > 0 AND length(samples) "
    "> 0";

std::vector<std::string> runs_to_prune(SQLite::Database& db, const std::string& before) {
  SQLite::Statement query(db, kRunsToPrune);
  bind_values(query, before);
  std::vector<std::string> ids;
  while (query.executeStep()) ids.push_back(query.getColumn(0).getString());
  return ids;
}

void count(SQLite::Database& db, const std::string& run, Pruned& pruned) {
  SQLite::Statement query(db, kCount);
  bind_values(query, run);
  query.executeStep();
  ++pruned.runs;
  pruned.rows += query.getColumn(0).getInt64();
  pruned.samples += query.getColumn(1).getInt64();
  pruned.bytes += query.getColumn(2).getInt64();
}

}  // namespace

Pruned Store::prunable(const std::string& before) const {
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction read(db, SQLite::TransactionBehavior::DEFERRED);
    Pruned pruned;
    for (const std::string& run : runs_to_prune(db, before)) count(db, run, pruned);
    return pruned;
  });
}

Pruned Store::prune(const std::string& before) {
  const auto alone = FileLock::acquire(state_->path, kSweepByte, 0);
  if (!alone) {
    throw EnvironmentError(state_->path +
                           ": a sweep measures into it, or it is being pruned; wait for the end");
  }
  return state_->use([&](SQLite::Database& db) {
    Pruned pruned;
    for (const std::string& run : runs_to_prune(db, before)) {
      SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
      count(db, run, pruned);
      SQLite::Statement drop(db, kDrop);
      bind_values(drop, run);
      drop.exec();
      transaction.commit();
    }
    if (pruned.runs > 0) compact();
    return pruned;
  });
}

}  // namespace nsa::store
