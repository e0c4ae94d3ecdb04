// Rows are keyed by UUIDs or by their content, and never change once they are written; only a run
// ends, or goes on and ends later, and gets labels. So the union is commutative, associative and
// idempotent: rows that both have are equal or the union is refused, of two ends of a run the later
// one holds, a run has the labels of both, and a row keeps the samples that one of them dropped.
#include "union.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "nsa/schemas/error.hpp"
#include "rows/series.hpp"

namespace nsa::store {
namespace {

struct Table {
  const char* name;
  const char* owner;   // the column that says whose row it is
  const char* owners;  // table of its owners, of which all rows here are written at once; "": any
                       // row may come later
  const char* once = "";             // columns that no two rows of different ids may share
  const char* mutable_columns = "";  // columns that may differ
};

constexpr const char* kOncePerLaunch =
    "run_id, executor, placement_id, problem_id, variant_id, launch";

/// In an order in which what is referred to comes first.
constexpr Table kTables[] = {
    {"run", "id", "run", "", "state ended_at"},
    {"environment_fact", "run_id", "run"},
    {"device", "run_id", "run"},
    {"run_label", "run_id", ""},
    {"library", "run_id", "run"},
    {"problem", "id", "problem"},
    {"variant", "id", "variant"},
    {"placement", "id", "placement"},
    {"measurement", "id", "measurement", "run_id, executor, placement_id, job_key, control"},
    {"launch_trace", "id", "launch_trace", kOncePerLaunch},
    {"launch_trace_kernel", "trace_id", "launch_trace"},
    {"launch_counters", "id", "launch_counters", kOncePerLaunch},
    {"launch_counter_metric", "counters_id", "launch_counters"},
    {"agreement", "id", "agreement", kOncePerLaunch},
    {"telemetry", "id", "telemetry"},
    {"run_result", "id", "run_result"},
};

struct Columns {
  std::vector<std::string> all, keys;
};

Columns columns_of(SQLite::Database& db, const char* table) {
  SQLite::Statement query(db, "SELECT name, pk FROM pragma_table_info(?, 'main')");
  query.bind(1, table);
  Columns columns;
  while (query.executeStep()) {
    columns.all.push_back(query.getColumn(0).getString());
    if (query.getColumn(1).getInt() > 0) columns.keys.push_back(columns.all.back());
  }
  return columns;
}

/// "(o.a, o.b) IS (i.a, i.b)" over the columns that have to be equal.
std::string equality(const Table& table, const Columns& columns) {
  std::vector<std::string> left, right;
  for (const std::string& column : columns.all) {
    if (std::string_view(table.mutable_columns).find(column) != std::string_view::npos) continue;
    if (table.name == std::string_view("measurement") && column == "samples") continue;
    left.push_back("o." + column);
    right.push_back("i." + column);
  }
  std::string equal = fmt::format("({}) IS ({})", fmt::join(left, ", "), fmt::join(right, ", "));
  if (table.name != std::string_view("measurement")) return equal;
  return equal + " AND (o.samples IS i.samples OR length(o.samples) = 0 OR length(i.samples) = 0)";
}

/// Owner of a row of `from` that `other` should have as it is, for it has its owner; "" = none.
std::string odd_owner(SQLite::Database& db, const Table& table, const char* from,
                      const char* other) {
  const Columns columns = columns_of(db, table.name);
  std::string same_key;
  for (const std::string& key : columns.keys) same_key += fmt::format("o.{0} = i.{0} AND ", key);
  SQLite::Statement query(
      db, fmt::format("SELECT i.{0} FROM {1}.{2} i WHERE i.{0} IN (SELECT id FROM {3}.{4}) AND NOT "
                      "EXISTS (SELECT 1 FROM {3}.{2} o WHERE {5}{6}) LIMIT 1",
                      table.owner, from, table.name, other, table.owners, same_key,
                      equality(table, columns)));
  return query.executeStep() ? query.getColumn(0).getString() : "";
}

void refuse_other_content(SQLite::Database& db, const Table& table, const std::string& name) {
  if (*table.owners == '\0') return;
  std::string id = odd_owner(db, table, "input", "main");
  if (id.empty()) id = odd_owner(db, table, "main", "input");
  if (id.empty()) return;
  throw InputError(fmt::format(
      "{}: its {} {} is another one than under the same id elsewhere ({}); one of the "
      "two was changed after it was written, or imported from a file that holds less: leave it "
      "out",
      name, table.owners, id, table.name));
}

/// A run that two copies of a database went on with has jobs that were measured twice.
void refuse_double_work(SQLite::Database& db, const Table& table, const std::string& name) {
  if (*table.once == '\0') return;
  SQLite::Statement query(
      db, fmt::format("SELECT i.run_id, i.id, o.id FROM input.{0} i JOIN main.{0} o USING ({1}) "
                      "WHERE i.id <> o.id LIMIT 1",
                      table.name, table.once));
  if (!query.executeStep()) return;
  throw InputError(fmt::format(
      "{}: run {} went on here and in a copy of the database too, so that both made the same {} "
      "({} and {}); leave one of the two out",
      name, query.getColumn(0).getString(), table.name, query.getColumn(1).getString(),
      query.getColumn(2).getString()));
}

void add_missing(SQLite::Database& db, const Table& table) {
  const Columns columns = columns_of(db, table.name);
  db.exec(
      fmt::format("INSERT INTO main.{0} ({1}) SELECT {1} FROM input.{0} WHERE true ON CONFLICT "
                  "({2}) DO NOTHING",
                  table.name, fmt::join(columns.all, ", "), fmt::join(columns.keys, ", ")));
}

/// The series that are kept of a run are those of its rows. They are made anew, not united.
void forget_series_that_change(SQLite::Database& db) {
  db.exec(
      "DELETE FROM main.run_series WHERE run_id IN (SELECT i.run_id FROM input.measurement i WHERE "
      "NOT EXISTS (SELECT 1 FROM main.measurement o WHERE o.id = i.id))");
}

/// Of rows that were pruned here and not there.
void fill_samples(SQLite::Database& db) {
  db.exec(
      "UPDATE main.measurement AS o SET samples = i.samples FROM input.measurement AS i WHERE "
      "i.id = o.id AND length(o.samples) = 0 AND length(i.samples) > 0");
}

/// The later end of a run holds; ends of one instant go by the state.
void end_runs(SQLite::Database& db) {
  db.exec(
      "UPDATE main.run AS o SET (state, ended_at) = (i.state, i.ended_at) FROM input.run AS i "
      "WHERE i.id = o.id AND (coalesce(i.ended_at, ''), i.state = 'complete') > "
      "(coalesce(o.ended_at, ''), o.state = 'complete')");
}

}  // namespace

std::vector<std::string> united_tables() {
  std::vector<std::string> names;
  for (const Table& table : kTables) names.emplace_back(table.name);
  return names;
}

RowCounts row_counts(SQLite::Database& db) {
  const auto count = [&](const char* table) {
    return db.execAndGet(fmt::format("SELECT count(*) FROM main.{}", table)).getInt64();
  };
  return {count("run"),       count("measurement"), count("launch_trace"), count("launch_counters"),
          count("telemetry"), count("run_result")};
}

void add_rows_of(SQLite::Database& db, const std::string& from, const std::string& name) {
  SQLite::Statement attach(db, "ATTACH ? AS input");
  attach.bind(1, from);
  attach.exec();
  {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    for (const Table& table : kTables) {
      refuse_other_content(db, table, name);
      refuse_double_work(db, table, name);
    }
    forget_series_that_change(db);
    for (const Table& table : kTables) add_missing(db, table);
    fill_samples(db);
    end_runs(db);
    keep_series_within(db, name);
    transaction.commit();
  }
  db.exec("DETACH input");
}

}  // namespace nsa::store
