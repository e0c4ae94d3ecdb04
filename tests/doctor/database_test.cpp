// A results database among what doctor is given.
#include "catch.hpp"
#include "fixtures.hpp"

namespace nsa::test {
namespace {

/// A database with one result of `run`.
void make_results(const Folder& folder, const std::string& name) {
  const Result made = nsatune(
      folder, "run --preset tiny --seq-len 8 --layers 1 --steps 1 --device cpu --db " + name);
  REQUIRE(made.exit_code == 0);
}

}  // namespace

TEST_CASE("a results database alone is not judged, and it is said what reads it", "[doctor]") {
  const Folder folder;
  make_results(folder, "night.sqlite");
  for (const char* named : {"doctor night.sqlite", "doctor --db night.sqlite"}) {
    const Result text = nsatune(folder, named);
    INFO(text.out);
    CHECK(text.exit_code == 3);
    CHECK(text.out.find("nothing found in what could be judged") != std::string::npos);
    CHECK(text.out.find("not judged: night.sqlite: a results database") != std::string::npos);
    CHECK(text.out.find("nsatune report results --db night.sqlite") != std::string::npos);
    CHECK(text.out.find("nsatune check --db night.sqlite") != std::string::npos);
  }
  Result json = nsatune(folder, "doctor night.sqlite --json");
  json.exit_code = 0;
  const Json row = json_of(json, "doctor")["not_judged"][0];
  CHECK(row["source"] == "night.sqlite");
  CHECK(row["whole"] == true);
}

TEST_CASE("beside other files a database is named, and keeps no run from being healthy",
          "[doctor]") {
  const Folder folder;
  make_results(folder, "night.sqlite");
  make_results(folder, "results.sqlite");
  folder.write("run.log", "step 1 | loss 5.0 | 900 tok/s\nstep 2 | loss 4.9 | 905 tok/s\n");
  const Result beside = nsatune(folder, "doctor run.log night.sqlite");
  INFO(beside.out);
  CHECK(beside.exit_code == 0);
  CHECK(beside.out.find("nothing found; ") != std::string::npos);
  CHECK(beside.out.find("not judged: night.sqlite: ") != std::string::npos);
  // The one that is read without being named goes without saying.
  CHECK(nsatune(folder, "doctor run.log").out.find("results.sqlite") == std::string::npos);
}

}  // namespace nsa::test
