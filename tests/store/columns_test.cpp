// The tables of the database have the columns that the lists of fields say.
#include <set>
#include <sstream>

#include "catch.hpp"
#include "nsa/schemas/fields/launch.hpp"
#include "nsa/schemas/fields/measurement.hpp"
#include "rows/columns.hpp"
#include "rows/problem_row.hpp"
#include "rows/series.hpp"
#include "support.hpp"

namespace nsa::store {
namespace {

using Names = std::set<std::string>;

Names columns_in(SQLite::Database& db, const std::string& table) {
  Names names;
  SQLite::Statement query(db, "SELECT name FROM pragma_table_info('" + table + "')");
  while (query.executeStep()) names.insert(query.getColumn(0).getString());
  return names;
}

/// Columns of the struct, and `others` of the table that are not its fields.
template <class T>
Names columns_by_fields(Names others = {}) {
  std::istringstream names(columns_of<T>().names);
  for (std::string name; std::getline(names >> std::ws, name, ',');) others.insert(name);
  return others;
}

TEST_CASE("tables have a column for each field", "[store]") {
  const test::TempFolder folder;
  const std::string path = folder.file("a.sqlite");
  Store::open(path);
  SQLite::Database db(path);
  CHECK(columns_in(db, "problem") ==
        columns_by_fields<Problem>({"id", "batch", "seq_len", "context_len"}));
  CHECK(columns_in(db, "measurement") == columns_by_fields<Measurement>({"samples"}));
  CHECK(columns_in(db, "launch_trace") == columns_by_fields<LaunchTraceRow>());
  CHECK(columns_in(db, "launch_counters") == columns_by_fields<LaunchCountersRow>());
  CHECK(columns_in(db, "agreement") == columns_by_fields<AgreementRow>());
  Names others{"run_id", "processes"};
  others.insert(SeriesReader::kKeyColumns.begin(), SeriesReader::kKeyColumns.end());
  CHECK(columns_in(db, "run_series") == columns_by_fields<KeptSeries>(others));
  CHECK(columns_in(db, "device") == columns_by_fields<Device>({"run_id", "position"}));
}

TEST_CASE("problems have the ids that databases have been filled with", "[store]") {
  CHECK(problem_id({}) == "08f39ce0a880fa64");
  Problem p;
  p.direction = Direction::backward;
  p.phase = Phase::chunked_prefill;
  p.seq_lens = {17, 300};
  p.context_lens = {5, 4096};
  p.q_heads = 24;
  p.kv_heads = 3;
  p.head_dim_k = 192;
  p.head_dim_v = 128;
  p.geometry = {64, 32, 128, 8, 256};
  p.dtype = Dtype::bf16;
  p.selection = {SelectionPattern::smooth, 0.1 + 0.2};
  p.model = {768, 12, 50257};
  CHECK(problem_id(p) == "f9a27dfacd061520");
}

}  // namespace
}  // namespace nsa::store
