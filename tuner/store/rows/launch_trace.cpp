// Traced launches and their kernels, beside the measurements.
#include "filter.hpp"
#include "launch_subject.hpp"
#include "nsa/schemas/error.hpp"
#include "problem_row.hpp"
#include "row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

constexpr const char* kColumns =
    "id, run_id, executor, placement_id, problem_id, variant_id, source_hash, launch, launches, "
    "host_waits, allocations, host_to_device_bytes, device_to_host_bytes, device_to_device_bytes, "
    "memset_bytes, busy_ns, span_ns, dropped, cupti_ns, events_ns, note, traced_at";

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
  get_subject(db, row, path, r);
  LaunchTrace& t = r.trace;
  for (std::int64_t* value : {&t.launches, &t.host_waits, &t.allocations, &t.host_to_device_bytes,
                              &t.device_to_host_bytes, &t.device_to_device_bytes, &t.memset_bytes,
                              &t.busy_ns, &t.span_ns, &t.dropped})
    *value = row.integer();
  t.cupti_ns = row.optional_real();
  t.events_ns = row.optional_real();
  t.note = row.text();
  r.traced_at = row.text();
  t.kernels = get_kernels(db, r.id, path);
  return r;
}

}  // namespace

bool Store::add(const LaunchTraceRow& r) {
  expects(!r.id.empty(), "a launch trace with an id");
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    const std::string placement = put_placement(db, r.placement);
    const std::string problem = put_problem(db, r.problem);
    const std::string variant = put_variant(db, r.variant);
    SQLite::Statement insert(db, std::string("INSERT INTO launch_trace (") + kColumns +
                                     ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON "
                                     "CONFLICT DO NOTHING");
    const LaunchTrace& t = r.trace;
    bind_values(insert, r.id, r.run_id, r.executor, placement, problem, variant, r.source_hash,
                to_string(r.launch), t.launches, t.host_waits, t.allocations,
                t.host_to_device_bytes, t.device_to_host_bytes, t.device_to_device_bytes,
                t.memset_bytes, t.busy_ns, t.span_ns, t.dropped, t.cupti_ns, t.events_ns, t.note,
                r.traced_at);
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
    SQLite::Statement select(db, std::string("SELECT ") + kColumns + " FROM launch_trace m" +
                                     filter.sql + " ORDER BY traced_at, id");
    bind_values(select, filter.parameters);
    std::vector<LaunchTraceRow> found;
    while (select.executeStep()) found.push_back(read_row(db, select, state_->path));
    return found;
  });
}

}  // namespace nsa::store
