// Into the database: a run of its own, the same file once, all or nothing.
#include "../store/support.hpp"
#include "catch.hpp"
#include "exchange_support.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::exchange {
namespace {

std::vector<store::RunWithRows> runs_of(const Imported& imported, const std::string& hash,
                                        const Mapping& mapping = {}) {
  return import_runs(imported, {"nsa_vibe", "decode.csv", "test build", hash, mapping});
}

Imported decode_file() {
  return test::read_text("nsa_vibe", test::made_up_files().at("decode.csv"));
}

TEST_CASE("the same file again adds nothing; another file does", "[exchange]") {
  const test::TempFolder folder;
  auto db = store::Store::open(folder.file("db.sqlite"));
  const store::Added first = db.add_runs(runs_of(decode_file(), "1"));
  CHECK(first.runs == 1);
  CHECK(first.rows == 8);
  const store::Added again = db.add_runs(runs_of(decode_file(), "1"));
  CHECK(again.runs == 0);
  CHECK(again.rows == 0);
  CHECK(again.known == 8);
  CHECK(db.add_runs(runs_of(decode_file(), "2")).rows == 8);
  CHECK(db.info().runs == 2);
  CHECK(db.verify().empty());
}

TEST_CASE("a run says from which file, format and hash it came", "[exchange]") {
  const test::TempFolder folder;
  auto db = store::Store::open(folder.file("db.sqlite"));
  db.add_runs(runs_of(decode_file(), "abc"));
  const Run run = db.runs().at(0);
  CHECK(run.state == RunState::complete);
  const Json spec = parse_json(run.spec_json, "spec");
  CHECK_NOTHROW(validate_json(spec, "import_spec", "spec"));
  CHECK(spec["import"]["format"] == "nsa_vibe");
  CHECK(spec["import"]["file"] == "decode.csv");
  CHECK(spec["import"]["hash"] == "abc");
  CHECK(run.devices.at(0).name == "unknown");
}

TEST_CASE("runs that a file tells apart stay apart, and are as old as their rows", "[exchange]") {
  const Results results = test::some_results(2, true);
  Imported imported = test::there_and_back(find_format("nvbench"), results);
  imported.runs.clear();  // as in a file that carries none
  const auto runs = runs_of(imported, "1");
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].run.id != runs[1].run.id);
  for (const auto& [run, rows, libraries, sums_up] : runs) {
    CHECK(run.started_at.starts_with("2026-11-21T12:00:0"));
    for (const Measurement& row : rows) CHECK(row.run_id == run.id);
  }
}

TEST_CASE("rows that are in the database stay as they are", "[exchange]") {
  const test::TempFolder folder;
  auto db = store::Store::open(folder.file("db.sqlite"));
  Imported imported = test::there_and_back(find_format("nvbench"), test::some_results(2, true));
  db.add_runs(runs_of(imported, "1"));
  const std::int64_t rows = db.info().measurements;
  imported.rows[0].reason = "another";
  CHECK(db.add_runs(runs_of(imported, "2")).rows == 0);
  CHECK(db.info().measurements == rows);
  CHECK(db.info().runs == 2);
}

TEST_CASE("a summary of runs that are in the database adds nothing beside them", "[exchange]") {
  for (const char* format : {"otava", "tunableop"}) {
    CAPTURE(format);
    const test::TempFolder folder;
    auto db = store::Store::open(folder.file("db.sqlite"));
    db.add_runs(
        runs_of(test::there_and_back(find_format("json"), test::some_results(2, true)), "1"));
    const store::Info before = db.info();
    // From the database's own rows, whose runs it knows.
    Results of_db;
    of_db.rows = db.measurements({.with_samples = true});
    for (const Run& run : db.runs()) of_db.devices = run.devices;
    const Imported summary = test::there_and_back(find_format(format), of_db);
    const store::Added added = db.add_runs(runs_of(summary, "2"));
    CHECK(added.rows == 0);
    CHECK(added.known == static_cast<std::int64_t>(summary.rows.size()));
    CHECK(db.info().runs == before.runs);
    // Elsewhere, and for another executor, they are rows like any.
    auto other = store::Store::open(folder.file("other.sqlite"));
    CHECK(other.add_runs(runs_of(summary, "2")).rows > 0);
    Mapping theirs;
    theirs.executor = "theirs";
    CHECK(db.add_runs(runs_of(summary, "2", theirs)).rows > 0);
  }
}

TEST_CASE("a run of a time that is yet to come refuses the file", "[exchange]") {
  Imported imported = test::there_and_back(find_format("json"), test::some_results(2, true));
  REQUIRE_FALSE(imported.runs.empty());
  imported.runs.front().run.started_at = "2999-01-01T00:00:00.000Z";
  CHECK_THROWS_WITH(runs_of(imported, "1"), Catch::Matchers::Contains("which is yet to come"));
}

TEST_CASE("an id that stands twice refuses the file", "[exchange]") {
  Imported imported = test::there_and_back(find_format("nvbench"), test::some_results(2, true));
  imported.rows[1].id = imported.rows[0].id;
  CHECK_THROWS_AS(runs_of(imported, "1"), InputError);
}

TEST_CASE("an executor that the user names bears all rows", "[exchange]") {
  Mapping mapping;
  mapping.executor = "theirs";
  for (const auto& [run, rows, libraries, sums_up] : runs_of(decode_file(), "1", mapping)) {
    for (const Measurement& row : rows) CHECK(row.executor == "theirs");
  }
}

TEST_CASE("a file that carries its runs gives them back with environment and libraries",
          "[exchange]") {
  const test::TempFolder folder;
  auto db = store::Store::open(folder.file("db.sqlite"));
  const Results results = test::some_results(2, true);
  const Imported imported = test::there_and_back(find_format("t4"), results);
  db.add_runs(runs_of(imported, "1"));
  for (const RunHead& head : results.runs) {
    const auto back = db.find_run(head.run.id);
    REQUIRE(back);
    CHECK(Json(*back) == Json(head.run));
    CHECK(db.libraries(head.run.id) == head.libraries);
  }
  CHECK(db.info().runs == 2);
  CHECK(db.verify().empty());
}

TEST_CASE("rows that the user gives to another executor leave the run that they came from",
          "[exchange]") {
  Mapping mapping;
  mapping.executor = "theirs";
  const Imported imported = test::there_and_back(find_format("t4"), test::some_results(2, true));
  for (const store::RunWithRows& one : runs_of(imported, "1", mapping)) {
    CHECK(one.run.environment.facts.empty());
    CHECK(one.run.id != "run-0");
    CHECK(one.run.id != "run-1");
  }
}

TEST_CASE("a run that is another one under the same id refuses the file", "[exchange]") {
  const test::TempFolder folder;
  auto db = store::Store::open(folder.file("db.sqlite"));
  Imported imported = test::there_and_back(find_format("t4"), test::some_results(2, true));
  db.add_runs(runs_of(imported, "1"));
  imported.runs[0].run.environment.facts[0].value = "another driver";
  for (Measurement& row : imported.rows) row.id += "-new";
  for (Measurement& row : imported.rows) row.job_key += "-new";
  const std::int64_t rows = db.info().measurements;
  CHECK_THROWS_AS(db.add_runs(runs_of(imported, "2")), InputError);
  CHECK(db.info().measurements == rows);
}

TEST_CASE("a run that contradicts itself is refused where it is read", "[exchange]") {
  Results results = test::some_results(2, true);
  results.runs[0].run.ended_at.reset();  // but it is not open
  CHECK_THROWS_AS(test::there_and_back(find_format("t4"), results), InputError);
  results = test::some_results(2, true);
  results.runs[0].run.environment.facts.push_back(results.runs[0].run.environment.facts[0]);
  CHECK_THROWS_AS(test::there_and_back(find_format("t4"), results), InputError);
}

TEST_CASE("a run that cannot be stored leaves the database as it was", "[exchange]") {
  const test::TempFolder folder;
  auto db = store::Store::open(folder.file("db.sqlite"));
  auto runs = runs_of(decode_file(), "1");
  auto broken = runs_of(decode_file(), "2");
  broken[0].run.devices.push_back(broken[0].run.devices[0]);
  broken[0].rows[5].median_ns = -1;
  broken[0].run.state = RunState::open;  // with an end: the schema refuses it
  runs.push_back(broken[0]);
  CHECK_THROWS(db.add_runs(runs));
  CHECK(db.info().runs == 0);
  CHECK(db.info().measurements == 0);
}

}  // namespace
}  // namespace nsa::exchange
