// Hardware counters of launches, beside the measurements.
#include "filter.hpp"
#include "launch_subject.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/fields/launch.hpp"
#include "row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

void put_metrics(SQLite::Database& db, const LaunchCountersRow& row) {
  SQLite::Statement insert(db,
                           "INSERT INTO launch_counter_metric (counters_id, position, name, value) "
                           "VALUES (?,?,?,?)");
  for (std::size_t i = 0; i < row.counters.metrics.size(); ++i) {
    const CounterMetric& metric = row.counters.metrics[i];
    bind_values(insert, row.id, i, metric.name, metric.value);
    insert.exec();
  }
}

std::vector<CounterMetric> get_metrics(SQLite::Database& db, const std::string& id,
                                       const std::string& path) {
  SQLite::Statement query(db,
                          "SELECT name, value FROM launch_counter_metric WHERE counters_id = ? "
                          "ORDER BY position");
  bind_values(query, id);
  std::vector<CounterMetric> metrics;
  while (query.executeStep()) {
    Row row(query, path + ": launch_counter_metric");
    CounterMetric& metric = metrics.emplace_back();
    metric.name = row.text();
    metric.value = row.real();
  }
  return metrics;
}

LaunchCountersRow read_row(SQLite::Database& db, const SQLite::Statement& statement,
                           const std::string& path) {
  Row row(statement, path + ": launch_counters " + statement.getColumn(0).getString());
  LaunchCountersRow r;
  get_launch(db, row, path, r);
  r.counters.metrics = get_metrics(db, r.id, path);
  return r;
}

}  // namespace

bool Store::add(const LaunchCountersRow& r) {
  expects(!r.id.empty(), "counters of a launch with an id");
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement insert(db, insert_launch<LaunchCountersRow>("launch_counters"));
    bind_launch(db, insert, r);
    const bool added = insert.exec() == 1;
    if (added) put_metrics(db, r);
    transaction.commit();
    return added;
  });
}

std::vector<LaunchCountersRow> Store::launch_counters(const Query& query) const {
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction read(db, SQLite::TransactionBehavior::DEFERRED);
    const Filter filter = filter_of(query);
    SQLite::Statement select(db, "SELECT " + columns_of<LaunchCountersRow>().names +
                                     " FROM launch_counters m" + filter.sql +
                                     " ORDER BY counted_at, id");
    bind_values(select, filter.parameters);
    std::vector<LaunchCountersRow> found;
    while (select.executeStep()) found.push_back(read_row(db, select, state_->path));
    return found;
  });
}

}  // namespace nsa::store
