#include "merge_support.hpp"

#include <map>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <SQLiteCpp/SQLiteCpp.h>

namespace nsa::test {
namespace {

template <class Row>
Row launch_row(const Measurement& m) {
  Row row;
  row.id = make_uuid();
  row.run_id = m.run_id;
  row.placement = m.placement;
  row.problem = m.problem;
  row.variant = m.variant;
  return row;
}

void add_launches(store::Store& store, const Measurement& m) {
  auto trace = launch_row<LaunchTraceRow>(m);
  trace.trace.kernels = {{"f", 2, 300}, {"g", 1, 50}};
  store.add(trace);
  auto counters = launch_row<LaunchCountersRow>(m);
  counters.counters.metrics = {{"b", 2}, {"a", 1.5}};
  store.add(counters);
}

void add_run(store::Store& store, int number) {
  store::RunRequest request = some_request();
  request.always_new = true;
  request.environment.facts.push_back({"machine", std::to_string(number % 3), true});
  request.devices[0].uuid = fmt::format("GPU-{}", number);
  const auto run = store.open_run(request);
  for (int i = 0; i < 16; ++i) {
    Measurement m = some_measurement(run.run().id, i);
    m.placement = {{fmt::format("node{}", number % 3), request.devices[0].uuid}};
    m.problem.seq_lens = {256 + 16 * (i % 4) + number};
    m.variant.name = fmt::format("v{}", i % 3);
    m.held_out = i % 5 == 0;
    store.add(m);
    if (i % 8 == 0) add_launches(store, m);
  }
  AgreementRow agreement = launch_row<AgreementRow>(some_measurement(run.run().id, number));
  agreement.agreement = {64, 60 + number % 4};
  store.add(agreement);
  store.add(store::TelemetryRow{make_uuid(), run.run().id, now_iso8601(), "sweep", Json::object()});
  if (number % 3 != 0) store.end_run(run.run().id, RunState::complete);
}

void add_result(store::Store& store) {
  Run run;
  run.id = make_uuid();
  run.started_at = run.ended_at.emplace(now_iso8601());
  run.state = RunState::complete;
  run.devices = some_request().devices;
  store.add(run, {{"OpenBLAS", true, "0.3.21", ""}}, some_result(run.id, run.started_at, 100));
}

std::vector<std::string> texts(SQLite::Database& db, const std::string& sql) {
  std::vector<std::string> found;
  SQLite::Statement query(db, sql);
  while (query.executeStep()) found.push_back(query.getColumn(0).getString());
  return found;
}

constexpr const char* kRowTables[] = {"run",       "measurement", "launch_trace", "launch_counters",
                                      "telemetry", "agreement",   "run_result"};

/// For each row of a table, which parts have it: a bit each, one at least.
using Masks = std::map<std::string, unsigned>;

void keep_part(const std::string& path, unsigned bit, const std::map<std::string, Masks>& masks,
               const Masks& ends) {
  SQLite::Database db(path, SQLite::OPEN_READWRITE);
  db.exec("PRAGMA foreign_keys = ON; PRAGMA synchronous = OFF");
  SQLite::Transaction transaction(db);
  for (const auto& [table, rows] : masks) {
    for (const auto& [id, mask] : rows) {
      if ((mask & bit) == 0) db.exec(fmt::format("DELETE FROM {} WHERE id = '{}'", table, id));
    }
  }
  for (const auto& [id, mask] : ends) {
    if ((mask & bit) == 0)
      db.exec(fmt::format("UPDATE run SET state = 'open', ended_at = NULL WHERE id = '{}'", id));
  }
  for (const char* table : {"problem", "variant", "placement"})
    db.exec(fmt::format(
        "DELETE FROM {0} WHERE id NOT IN (SELECT {0}_id FROM measurement UNION "
        "SELECT {0}_id FROM launch_trace UNION SELECT {0}_id FROM launch_counters UNION "
        "SELECT {0}_id FROM agreement)",
        table));
  transaction.commit();
}

/// The run of each row, by the id of the row; rows of no run are left out.
std::map<std::string, std::string> owners(SQLite::Database& db, const char* table) {
  std::map<std::string, std::string> found;
  if (std::string(table) == "run") return found;
  SQLite::Statement query(db,
                          fmt::format("SELECT id, run_id FROM {} WHERE run_id IS NOT NULL", table));
  while (query.executeStep())
    found[query.getColumn(0).getString()] = query.getColumn(1).getString();
  return found;
}

}  // namespace

void make_fleet(const std::string& path, int runs) {
  store::Store store = store::Store::open(path);
  for (int i = 0; i < runs; ++i) add_run(store, i);
  for (int i = 0; i < runs; ++i) add_result(store);
  store.add(store::TelemetryRow{make_uuid(), "", now_iso8601(), "run", Json{{"steps", 3}}});
}

std::string content_of(const std::string& path) {
  SQLite::Database db(path, SQLite::OPEN_READWRITE);
  std::string content;
  for (const std::string& table :
       texts(db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")) {
    const auto columns = texts(
        db, fmt::format("SELECT 'quote(' || name || ')' FROM pragma_table_info('{}')", table));
    content += table + "\n";
    for (const std::string& row : texts(
             db, fmt::format("SELECT {} FROM {} ORDER BY 1", fmt::join(columns, "||','||"), table)))
      content += row + "\n";
  }
  return content;
}

std::vector<std::string> split(const TempFolder& folder, const std::string& whole, int count,
                               std::mt19937& random) {
  std::uniform_int_distribution<unsigned> some_parts(1, (1u << count) - 1);
  std::map<std::string, Masks> masks;
  Masks ends;
  {
    SQLite::Database db(whole, SQLite::OPEN_READWRITE);
    for (const char* table : kRowTables) {
      for (const std::string& id : texts(db, fmt::format("SELECT id FROM {}", table)))
        masks[table][id] = some_parts(random);
    }
    for (const char* table : kRowTables) {  // a part with a row has the row's run
      for (const auto& [id, run] : owners(db, table)) masks["run"][run] |= masks[table][id];
    }
    for (const auto& [id, mask] : masks["run"]) {
      ends[id] = mask & some_parts(random);
      if (ends[id] == 0) ends[id] = mask;
    }
  }
  std::vector<std::string> parts;
  for (int p = 0; p < count; ++p) {
    parts.push_back(folder.file(fmt::format("part{}.sqlite", p)));
    std::filesystem::copy_file(whole, parts.back());
    keep_part(parts.back(), 1u << p, masks, ends);
  }
  return parts;
}

void tamper(const std::string& path, const std::string& sql) {
  SQLite::Database db(path, SQLite::OPEN_READWRITE);
  db.exec(
      "PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON");
  db.exec(sql);
}

}  // namespace nsa::test
