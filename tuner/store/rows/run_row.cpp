#include "run_row.hpp"

#include <fmt/core.h>

#include "columns.hpp"
#include "nsa/schemas/fields/run.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/store/store.hpp"

namespace nsa::store {

/// The facts are rows of a table.
template <>
inline constexpr bool kIsList<Environment> = true;

namespace {

/// Rows of a table that belong to a run; `placed` tables have the place in the list too.
template <class T>
void put_list(SQLite::Database& db, const std::string& table, const std::string& run_id,
              const std::vector<T>& list, bool placed) {
  const Columns& columns = columns_of<T>();
  const std::string place = placed ? ", position" : "", parameter = placed ? ",?" : "";
  SQLite::Statement insert(db, "INSERT INTO " + table + " (run_id" + place + ", " + columns.names +
                                   ") VALUES (?" + parameter + "," + columns.parameters + ")");
  for (std::size_t i = 0; i < list.size(); ++i) {
    Binder binder(insert);
    binder.add(run_id);
    if (placed) binder.add(i);
    bind_columns(binder, list[i], kNoRows);
    insert.exec();
  }
}

void read_environment(SQLite::Database& db, Run& run) {
  SQLite::Statement facts(db, "SELECT " + columns_of<EnvironmentFact>().names +
                                  " FROM environment_fact WHERE run_id = ? ORDER BY key");
  bind_values(facts, run.id);
  while (facts.executeStep()) {
    Row row(facts, "environment");
    read_columns(row, run.environment.facts.emplace_back(), kNoRows);
  }
}

void read_devices(SQLite::Database& db, const std::string& where, Run& run) {
  SQLite::Statement devices(db, "SELECT " + columns_of<Device>().names +
                                    " FROM device WHERE run_id = ? ORDER BY position");
  bind_values(devices, run.id);
  while (devices.executeStep()) {
    Row row(devices, where);
    read_columns(row, run.devices.emplace_back(), kNoRows);
  }
}

Run read_run(SQLite::Database& db, const std::string& path, const SQLite::Statement& statement) {
  const std::string where = path + ": run " + statement.getColumn(0).getString();
  Row row(statement, where);
  Run run;
  read_columns(row, run, kNoRows);
  read_environment(db, run);
  read_devices(db, where, run);
  return run;
}

}  // namespace

std::string environment_hash(const Environment& environment) {
  Json content = Json::array();
  for (const EnvironmentFact& fact : environment.facts) {
    content.push_back(Json{fact.key, fact.value, fact.epoch});
  }
  // Values of environment variables are any bytes; what is no UTF-8 must not end the program.
  return hash_hex(content.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void put_run(SQLite::Database& db, const Run& run) {
  SQLite::Statement insert(db, "INSERT INTO run (" + columns_of<Run>().names + ") VALUES (" +
                                   columns_of<Run>().parameters + ")");
  Binder run_binder(insert);
  bind_columns(run_binder, run, kNoRows);
  insert.exec();
  put_list(db, "environment_fact", run.id, run.environment.facts, false);
  put_list(db, "device", run.id, run.devices, true);
}

std::vector<Run> get_runs(SQLite::Database& db, const std::string& path,
                          const std::string& condition,
                          const std::vector<std::string>& parameters) {
  SQLite::Statement query(db, "SELECT " + columns_of<Run>().names + " FROM run r WHERE " +
                                  condition + " ORDER BY started_at DESC, rowid DESC");
  bind_values(query, parameters);
  std::vector<Run> runs;
  while (query.executeStep()) runs.push_back(read_run(db, path, query));
  return runs;
}

std::optional<Run> get_run(SQLite::Database& db, const std::string& path,
                           const std::string& id_or_prefix) {
  auto exact = get_runs(db, path, "id = ?", {id_or_prefix});
  if (!exact.empty()) return std::move(exact.front());
  if (id_or_prefix.empty()) return std::nullopt;
  auto runs = get_runs(db, path, "substr(id, 1, length(?1)) = ?1", {id_or_prefix});
  if (runs.size() > 1) {
    throw InputError(fmt::format("{}: {} runs begin with '{}'; give more of the id", path,
                                 runs.size(), id_or_prefix));
  }
  return runs.empty() ? std::nullopt : std::optional(std::move(runs.front()));
}

}  // namespace nsa::store
