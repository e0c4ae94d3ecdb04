// Hardware counters of launches, beside the measurements.
#include "filter.hpp"
#include "launch_subject.hpp"
#include "nsa/schemas/error.hpp"
#include "problem_row.hpp"
#include "row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

constexpr const char* kColumns =
    "id, run_id, executor, placement_id, problem_id, variant_id, source_hash, launch, cold, "
    "outcome, reason, chip, dram_share, l2_share, tensor_share, dram_read_bytes, "
    "dram_write_bytes, busy_ns, passes, note, counted_at";

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
  get_subject(db, row, path, r);
  r.cold = row.boolean();
  r.outcome = row.word<Outcome>();
  r.reason = row.text();
  LaunchCounters& c = r.counters;
  c.chip = row.text();
  for (std::optional<double>* share : {&c.dram_share, &c.l2_share, &c.tensor_share})
    *share = row.optional_real();
  c.dram_read_bytes = row.optional_integer();
  c.dram_write_bytes = row.optional_integer();
  c.busy_ns = row.optional_real();
  c.passes = row.integer();
  c.note = row.text();
  r.counted_at = row.text();
  c.metrics = get_metrics(db, r.id, path);
  return r;
}

}  // namespace

bool Store::add(const LaunchCountersRow& r) {
  expects(!r.id.empty(), "counters of a launch with an id");
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    const std::string placement = put_placement(db, r.placement);
    const std::string problem = put_problem(db, r.problem);
    const std::string variant = put_variant(db, r.variant);
    SQLite::Statement insert(db, std::string("INSERT INTO launch_counters (") + kColumns +
                                     ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON "
                                     "CONFLICT DO NOTHING");
    const LaunchCounters& c = r.counters;
    bind_values(insert, r.id, r.run_id, r.executor, placement, problem, variant, r.source_hash,
                to_string(r.launch), r.cold, to_string(r.outcome), r.reason, c.chip, c.dram_share,
                c.l2_share, c.tensor_share, c.dram_read_bytes, c.dram_write_bytes, c.busy_ns,
                c.passes, c.note, r.counted_at);
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
    SQLite::Statement select(db, std::string("SELECT ") + kColumns + " FROM launch_counters m" +
                                     filter.sql + " ORDER BY counted_at, id");
    bind_values(select, filter.parameters);
    std::vector<LaunchCountersRow> found;
    while (select.executeStep()) found.push_back(read_row(db, select, state_->path));
    return found;
  });
}

}  // namespace nsa::store
