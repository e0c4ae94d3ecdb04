#include <array>
#include <filesystem>

#include <fmt/core.h>

#include "file/migrate.hpp"
#include "file/opening.hpp"
#include "nsa/schemas/error.hpp"
#include "rows/filter.hpp"
#include "rows/measurement_row.hpp"
#include "rows/row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

/// The one id that is `prefix` or begins with it; nothing when there is none.
std::optional<std::string> full_id(SQLite::Database& db, const std::string& path,
                                   const std::string& prefix) {
  SQLite::Statement query(db,
                          "SELECT id FROM measurement WHERE id = ?1 OR (length(?1) > 0 AND "
                          "substr(id, 1, length(?1)) = ?1) ORDER BY id = ?1 DESC LIMIT 2");
  bind_values(query, prefix);
  std::vector<std::string> ids;
  while (query.executeStep()) ids.push_back(query.getColumn(0).getString());
  if (ids.empty()) return std::nullopt;
  if (ids.size() > 1 && ids.front() != prefix) {
    throw InputError(
        fmt::format("{}: several measurements begin with '{}'; give more of the id", path, prefix));
  }
  return ids.front();
}

std::int64_t count(SQLite::Database& db, const char* sql) { return db.execAndGet(sql).getInt64(); }

}  // namespace

Store::Store(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

Store Store::open(const std::string& path, const OpenOptions& options) {
  Opened opened = open_for_writing(path, options);
  return Store(std::make_unique<State>(
      State{path, options, std::move(opened.connection), std::move(opened.notes)}));
}

Store Store::open_existing(const std::string& path, const OpenOptions& options) {
  Opened opened = open_for_reading(path, options);
  return Store(std::make_unique<State>(
      State{path, options, std::move(opened.connection), std::move(opened.notes)}));
}

const std::vector<std::string>& Store::notes() const noexcept { return state_->notes; }

std::set<std::string> Store::finished_jobs(const std::string& run_id,
                                           const std::optional<std::string>& device_uuid,
                                           const std::optional<std::string>& executor) const {
  return state_->use([&](SQLite::Database& db) {
    Filter filter;
    filter.add("m.run_id = ?", run_id);
    filter.add(kOnDevice, device_uuid);
    filter.add("m.executor = ?", executor);
    SQLite::Statement query(db, "SELECT m.job_key FROM measurement m" + filter.sql);
    bind_values(query, filter.parameters);
    std::set<std::string> keys;
    while (query.executeStep()) keys.insert(query.getColumn(0).getString());
    return keys;
  });
}

bool Store::add(const Measurement& measurement) {
  expects(!measurement.id.empty() && !measurement.job_key.empty(), "a measurement with id and key");
  expects(measurement.samples.size() == static_cast<std::size_t>(measurement.samples_n),
          "samples_n samples");
  return state_->use([&](SQLite::Database& db) {
    if (!state_->writer) state_->writer = std::make_unique<MeasurementWriter>(db);
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    const bool added = state_->writer->put(measurement);
    if (added) forget_series(db, measurement.run_id);
    transaction.commit();
    state_->writer->kept();
    return added;
  });
}

std::vector<Measurement> Store::measurements(const Query& query) const {
  std::vector<Measurement> found;
  for_each_measurement(query, [&](const Measurement& m) { found.push_back(m); });
  return found;
}

void Store::for_each_measurement(const Query& query,
                                 const std::function<void(const Measurement&)>& visit) const {
  state_->use([&](SQLite::Database& db) {
    SQLite::Transaction read(db, SQLite::TransactionBehavior::DEFERRED);  // one consistent state
    Filter filter = filter_of(query);
    if (query.id) {
      const auto id = full_id(db, state_->path, *query.id);
      if (!id) return;
      filter.add("m.id = ?", id);
    }
    MeasurementReader reader(db, state_->path);
    if (!query.by_time) {
      // One pass over the part of the table that has them, which an index would only jump about in.
      const std::string rowids = " FROM measurement m" + filter.sql;
      SQLite::Statement select(db, MeasurementReader::select(query.with_samples) + " NOT INDEXED" +
                                       filter.sql + " AND m.rowid BETWEEN (SELECT min(m.rowid)" +
                                       rowids + ") AND (SELECT max(m.rowid)" + rowids +
                                       ") ORDER BY m.rowid");
      Binder binder(select);
      for (int times = 0; times < 3; ++times) {
        for (const std::string& value : filter.parameters) binder.add(value);
      }
      while (select.executeStep()) visit(reader.read(select));
      return;
    }
    // Two statements, so that the rows are sorted without their other columns and samples.
    SQLite::Statement order(db, "SELECT m.rowid FROM measurement m" + filter.sql +
                                    " ORDER BY measured_at, process, round, position, id");
    bind_values(order, filter.parameters);
    SQLite::Statement select(db,
                             MeasurementReader::select(query.with_samples) + " WHERE m.rowid = ?");
    while (order.executeStep()) {
      bind_values(select, order.getColumn(0).getInt64());
      if (!select.executeStep()) {  // an index that disagrees with its table
        throw InputError(state_->path + ": is damaged: an index names a measurement that is not " +
                         "there; nsatune db verify lists all that is wrong");
      }
      visit(reader.read(select));
    }
  });
}

std::vector<std::string> Store::executors(const Query& query) const {
  return state_->use([&](SQLite::Database& db) {
    const Filter filter = filter_of(query);
    SQLite::Statement select(
        db, "SELECT DISTINCT m.executor FROM measurement m" + filter.sql + " ORDER BY 1");
    bind_values(select, filter.parameters);
    std::vector<std::string> found;
    while (select.executeStep()) found.push_back(select.getColumn(0).getString());
    return found;
  });
}

Info Store::info() const {
  return state_->use([&](SQLite::Database& db) {
    Info info;
    info.path = state_->path;
    info.schema_version = static_cast<int>(count(db, "PRAGMA user_version"));
    info.journal_mode = state_->connection->journal_mode();
    std::error_code none;
    for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
      const auto bytes = std::filesystem::file_size(state_->path + suffix, none);
      if (!none) info.bytes += static_cast<std::int64_t>(bytes);
    }
    info.runs = count(db, "SELECT count(*) FROM run");
    info.open_runs = count(db, "SELECT count(*) FROM run WHERE state = 'open'");
    info.measurements = count(db, "SELECT count(*) FROM measurement");
    info.samples = count(db, "SELECT coalesce(sum(samples_n), 0) FROM measurement");
    info.run_results = count(db, "SELECT count(*) FROM run_result");
    return info;
  });
}

}  // namespace nsa::store
