#include "run_row.hpp"

#include <fmt/core.h>

#include "nsa/schemas/json.hpp"
#include "nsa/store/store.hpp"
#include "row.hpp"

namespace nsa::store {
namespace {

RunState state_of(const std::string& word, const std::string& where) {
  for (const RunState state : {RunState::open, RunState::complete, RunState::incomplete}) {
    if (word == to_string(state)) return state;
  }
  throw InputError(where + ": unknown state '" + word + "'; name another file");
}

void put_device(SQLite::Statement& insert, const std::string& run_id, std::size_t position,
                const Device& d) {
  bind_values(insert, run_id, position, d.id, to_string(d.backend), d.name, d.uuid,
              d.compute_capability, d.multiprocessors, d.memory_bytes, d.memory_free_bytes,
              d.l2_bytes, d.power_limit_w, d.max_clock_mhz, d.mig, d.ecc, d.isa, d.driver,
              d.runtime);
  insert.exec();
}

std::optional<int> small(std::optional<std::int64_t> value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

Device read_device(const SQLite::Statement& statement, const std::string& where) {
  Row row(statement, where);
  Device d;
  d.id = row.text();
  d.backend = row.word<Backend>();
  d.name = row.text();
  d.uuid = row.text();
  d.compute_capability = small(row.optional_integer());
  d.multiprocessors = small(row.optional_integer());
  d.memory_bytes = row.optional_integer();
  d.memory_free_bytes = row.optional_integer();
  d.l2_bytes = row.optional_integer();
  d.power_limit_w = row.optional_real();
  d.max_clock_mhz = row.optional_real();
  d.mig = row.optional_boolean();
  d.ecc = row.optional_boolean();
  d.isa = row.text();
  d.driver = row.text();
  d.runtime = row.text();
  return d;
}

void read_environment(SQLite::Database& db, Run& run) {
  SQLite::Statement facts(
      db, "SELECT key, value, epoch FROM environment_fact WHERE run_id = ? ORDER BY key");
  bind_values(facts, run.id);
  while (facts.executeStep()) {
    Row row(facts, "environment");
    EnvironmentFact fact;
    fact.key = row.text();
    fact.value = row.text();
    fact.epoch = row.boolean();
    run.environment.facts.push_back(std::move(fact));
  }
}

void read_devices(SQLite::Database& db, const std::string& where, Run& run) {
  SQLite::Statement devices(
      db,
      "SELECT id, backend, name, uuid, compute_capability, multiprocessors, memory_bytes, "
      "memory_free_bytes, l2_bytes, power_limit_w, max_clock_mhz, mig, ecc, isa, driver, runtime "
      "FROM device WHERE run_id = ? ORDER BY position");
  bind_values(devices, run.id);
  while (devices.executeStep()) run.devices.push_back(read_device(devices, where));
}

Run read_run(SQLite::Database& db, const std::string& path, const SQLite::Statement& statement) {
  const std::string where = path + ": run " + statement.getColumn(0).getString();
  Row row(statement, where);
  Run run;
  run.id = row.text();
  run.spec_hash = row.text();
  run.spec_json = row.text();
  run.build_id = row.text();
  run.environment_hash = row.text();
  run.started_at = row.text();
  run.ended_at = row.optional_text();
  run.state = state_of(row.text(), where);
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
  SQLite::Statement insert(db,
                           "INSERT INTO run (id, spec_hash, spec_json, build_id, environment_hash, "
                           "started_at, ended_at, state) VALUES (?,?,?,?,?,?,?,?)");
  bind_values(insert, run.id, run.spec_hash, run.spec_json, run.build_id, run.environment_hash,
              run.started_at, run.ended_at, to_string(run.state));
  insert.exec();
  SQLite::Statement fact(
      db, "INSERT INTO environment_fact (run_id, key, value, epoch) VALUES (?,?,?,?)");
  for (const EnvironmentFact& f : run.environment.facts) {
    bind_values(fact, run.id, f.key, f.value, f.epoch);
    fact.exec();
  }
  SQLite::Statement device(
      db,
      "INSERT INTO device (run_id, position, id, backend, name, uuid, compute_capability, "
      "multiprocessors, memory_bytes, memory_free_bytes, l2_bytes, power_limit_w, max_clock_mhz, "
      "mig, ecc, isa, driver, runtime) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  for (std::size_t i = 0; i < run.devices.size(); ++i)
    put_device(device, run.id, i, run.devices[i]);
}

std::vector<Run> get_runs(SQLite::Database& db, const std::string& path,
                          const std::string& condition,
                          const std::vector<std::string>& parameters) {
  SQLite::Statement query(
      db,
      "SELECT id, spec_hash, spec_json, build_id, environment_hash, started_at, ended_at, "
      "state FROM run r WHERE " +
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
