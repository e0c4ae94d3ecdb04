// db merge as a user meets it.
#include "../store/support.hpp"
#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

void make_database(const Folder& folder, const std::string& name) {
  store::Store store = store::Store::open(folder.file(name));
  const auto run = store.open_run(some_request());
  for (int i = 0; i < 3; ++i) store.add(some_measurement(run.run().id, i));
  store.end_run(run.run().id, RunState::complete);
}

}  // namespace

TEST_CASE("db merge makes one database of several and says what came in", "[cli]") {
  const Folder folder;
  make_database(folder, "a.sqlite");
  make_database(folder, "b.sqlite");
  const Json first =
      json_of(nsatune(folder, "db merge a.sqlite b.sqlite --db all.sqlite --json"), "db_merge");
  CHECK(first["created"] == true);
  CHECK(first["added"]["measurements"] == 6);
  CHECK(first["files"][1]["path"] == "b.sqlite");
  const Json info = json_of(nsatune(folder, "db info --db all.sqlite --json"), "db_info");
  CHECK(info["runs"] == 2);
  CHECK(info["open_runs"] == 0);
  const Result again = nsatune(folder, "db merge b.sqlite a.sqlite --db all.sqlite");
  CHECK(again.exit_code == 0);
  CHECK(again.out.find("all.sqlite: added 0 runs, 0 measurements") != std::string::npos);
}

TEST_CASE("db merge refuses with one line and exit 2, and writes nothing", "[cli]") {
  const Folder folder;
  make_database(folder, "a.sqlite");
  folder.write("text.sqlite", "no database");
  for (const char* file : {"missing.sqlite", "text.sqlite"}) {
    const Result r = nsatune(folder, std::string("db merge a.sqlite ") + file + " --db all.sqlite");
    CHECK(r.exit_code == 2);
    CHECK(r.out.empty());
    CHECK(r.err.find(file) != std::string::npos);
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(folder.file("all.sqlite")));
  }
  CHECK(nsatune(folder, "db merge --db all.sqlite").exit_code == 2);
}

}  // namespace nsa::test
