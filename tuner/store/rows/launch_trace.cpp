// Traced launches and their kernels, beside the measurements.
#include "filter.hpp"
#include "launch_subject.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/fields/launch.hpp"
#include "row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

void put_kernels(SQLite::Database& db, const LaunchTraceRow& row) {
  SQLite::Statement insert(db,
                           "INSERT INTO launch_trace_kernel (trace_id, position, name, count, "
                           "total_ns) VALUES (?,?,?,?,?)");
  for (std::size_t i = 0; i < row.trace.kernels.size(); ++i) {
    const TracedKernel& kernel = row.trace.kernels[i];
    bind_values(insert, row.id, i, kernel.name, kernel.count, kernel.total_ns);
    insert.exec();
  }
}

std::vector<TracedKernel> get_kernels(SQLite::Database& db, const std::string& id,
                                      const std::string& path) {
  SQLite::Statement query(db,
                          "SELECT name, count, total_ns FROM launch_trace_kernel WHERE trace_id = "
                          "? ORDER BY position");
  bind_values(query, id);
  std::vector<TracedKernel> kernels;
  while (query.executeStep()) {
    Row row(query, path + ": launch_trace_kernel");
    TracedKernel& kernel = kernels.emplace_back();
    kernel.name = row.text();
    kernel.count = row.integer();
    kernel.total_ns = row.integer();
  }
  return kernels;
}

LaunchTraceRow read_row(SQLite::Database& db, const SQLite::Statement& statement,
                        const std::string& path) {
  Row row(statement, path + ": launch_trace " + statement.getColumn(0).getString());
  LaunchTraceRow r;
  get_launch(db, row, path, r);
  r.trace.kernels = get_kernels(db, r.id, path);
  return r;
}

}  // namespace

bool Store::add(const LaunchTraceRow& r) {
  expects(!r.id.empty(), "a launch trace with an id");
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement insert(db, insert_launch<LaunchTraceRow>("launch_trace"));
    bind_launch(db, insert, r);
    const bool added = insert.exec() == 1;
    if (added) put_kernels(db, r);
    transaction.commit();
    return added;
  });
}

std::vector<LaunchTraceRow> Store::launch_traces(const Query& query) const {
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction read(db, SQLite::TransactionBehavior::DEFERRED);
    const Filter filter = filter_of(query);
    SQLite::Statement select(db, "SELECT " + columns_of<LaunchTraceRow>().names +
                                     " FROM launch_trace m" + filter.sql +
                                     " ORDER BY traced_at, id");
    bind_values(select, filter.parameters);
    std::vector<LaunchTraceRow> found;
    while (select.executeStep()) found.push_back(read_row(db, select, state_->path));
    return found;
  });
}

}  // namespace nsa::store
