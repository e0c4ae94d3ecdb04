// Names that people give to runs.
#include "rows/row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

/// One statement with a run's id and the label, for each run in one transaction. The rows that it
/// changed.
std::size_t for_each_run(SQLite::Database& db, const char* sql,
                         const std::vector<std::string>& run_ids, const std::string& label) {
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  SQLite::Statement statement(db, sql);
  int changed = 0;
  for (const std::string& id : run_ids) {
    bind_values(statement, id, label);
    changed += statement.exec();
  }
  transaction.commit();
  return static_cast<std::size_t>(changed);
}

}  // namespace

void Store::add_label(const std::vector<std::string>& run_ids, const std::string& label) {
  expects(!label.empty(), "a label");
  state_->use([&](SQLite::Database& db) {
    for_each_run(db,
                 "INSERT INTO run_label (run_id, label) VALUES (?, ?) ON CONFLICT (run_id, label) "
                 "DO NOTHING",
                 run_ids, label);
  });
}

std::size_t Store::remove_label(const std::vector<std::string>& run_ids, const std::string& label) {
  return state_->use([&](SQLite::Database& db) {
    return for_each_run(db, "DELETE FROM run_label WHERE run_id = ? AND label = ?", run_ids, label);
  });
}

std::map<std::string, std::set<std::string>> Store::labels() const {
  return state_->use([&](SQLite::Database& db) {
    std::map<std::string, std::set<std::string>> labels;
    SQLite::Statement query(db, "SELECT run_id, label FROM run_label");
    while (query.executeStep())
      labels[query.getColumn(0).getString()].insert(query.getColumn(1).getString());
    return labels;
  });
}

}  // namespace nsa::store
