// Results of `run` in the database, through the real program.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

const std::string kTiny = "run --preset tiny --seq-len 16 --layers 1 --steps 1 --no-thresholds ";

}  // namespace

TEST_CASE("a result of run is kept where no database was, and says where", "[cli]") {
  const Folder folder;
  const Result ran = nsatune(folder, kTiny + "--json", "NSA_USE_FA2=1 NSATUNE_SEED=5");
  REQUIRE(ran.exit_code == 0);
  const Json result = json_of(ran, "run_result");
  const std::string id = result["run_id"];
  CHECK(ran.err.find("run " + id + " in results.sqlite") != std::string::npos);
  CHECK(result["variables"]["NSA_USE_FA2"] == "1");
  CHECK(result["variables"]["NSATUNE_SEED"] == "5");
  CHECK(result["version"].get<std::string>().find("0.1.0") != std::string::npos);
  CHECK(result["date"].get<std::string>().size() > 19);
  CHECK(result["memory"]["weights_bytes"] > 0);
  CHECK(result["memory"]["workspace_peak_bytes"] == result["telemetry"]["peak_workspace_bytes"]);

  const Json past = json_of(nsatune(folder, "report results --json"), "report_results");
  REQUIRE(past["runs"].size() == 1);
  CHECK(past["runs"][0]["run_id"] == id);
  REQUIRE(past["runs"][0]["run_results"].size() == 1);
  CHECK(past["runs"][0]["run_results"][0] == result);
  const Json info = json_of(nsatune(folder, "db info --json"), "db_info");
  CHECK(info["run_results"] == 1);
  CHECK(info["run_list"][0]["state"] == "complete");
  CHECK(nsatune(folder, "db verify").exit_code == 0);
}

TEST_CASE("a result says which thresholds file decided, and what was in it", "[cli]") {
  const Folder folder;
  ThresholdTable table;  // of a CPU, and without decisions
  table.created_by = "test";
  folder.write("t.json", dump_thresholds(table));
  const std::string run = "run --preset tiny --seq-len 16 --layers 1 --steps 1 --no-db --json ";
  const Json with = json_of(nsatune(folder, run + "--thresholds t.json"), "run_result");
  CHECK(with["thresholds"] == "t.json");
  CHECK(with["thresholds_hash"] == hash_hex(dump_thresholds(table)));
  const Json without = json_of(nsatune(folder, run + "--no-thresholds"), "run_result");
  CHECK(without["thresholds_hash"].is_null());
}

TEST_CASE("a past run is printed as it was when it ran", "[cli]") {
  const Folder folder;
  const Result ran = nsatune(folder, kTiny + "--decode 2");
  REQUIRE(ran.exit_code == 0);
  CHECK(ran.out.find("tok/s") != std::string::npos);
  const Result past = nsatune(folder, "report results");
  CHECK(past.exit_code == 0);
  REQUIRE(past.out.size() > ran.out.size());
  CHECK(past.out.substr(past.out.size() - ran.out.size()) == ran.out);
}

TEST_CASE("each run keeps what the probes of all libraries said, with reasons", "[cli]") {
  const Folder folder;
  REQUIRE(nsatune(folder, kTiny).exit_code == 0);
  const Json here = json_of(nsatune(folder, "devices --json"), "devices");
  const Json info = json_of(nsatune(folder, "db info --json"), "db_info");
  CHECK(info["run_list"][0]["libraries"] == here["libraries"]);
  bool any_reason = false;
  for (const Json& library : here["libraries"]) {
    any_reason = any_reason || library.contains("reason");
    for (const char* command : {"db info", "report results"})
      CHECK(nsatune(folder, command).out.find(library["library"].get<std::string>()) !=
            std::string::npos);
  }
  CHECK(any_reason);
}

TEST_CASE("no result is kept with --no-db, and a folder that takes no file is exit 4 at once",
          "[cli]") {
  const Folder folder;
  REQUIRE(nsatune(folder, kTiny + "--no-db").exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(folder.file("results.sqlite")));
  const Result refused = nsatune(folder, kTiny + "--db /proc/results.sqlite");
  CHECK(refused.exit_code == 4);
  CHECK(refused.out.empty());
  CHECK(refused.err.find("--no-db") != std::string::npos);
}

TEST_CASE("runs that begin at once in a folder without a database lose nothing", "[cli]") {
  const Folder folder;
  constexpr int kRuns = 6;
  std::string together = "true";
  for (int i = 0; i < kRuns; ++i)
    together += " & '" NSATUNE_PROGRAM "' " + kTiny + "--quiet >/dev/null";
  REQUIRE(std::system(
              ("cd '" + folder.path().string() + "' && (" + together + "; wait)").c_str()) == 0);
  CHECK(json_of(nsatune(folder, "db info --json"), "db_info")["run_results"] == kRuns);
  CHECK(nsatune(folder, "db verify").exit_code == 0);
}

TEST_CASE("db merge carries results of run, and a night of the check is none of them", "[cli]") {
  const Folder folder;
  REQUIRE(nsatune(folder, kTiny + "--db a.sqlite").exit_code == 0);
  REQUIRE(nsatune(folder, kTiny + "--db b.sqlite").exit_code == 0);
  const Json merged =
      json_of(nsatune(folder, "db merge a.sqlite b.sqlite --db both.sqlite --json"), "db_merge");
  CHECK(merged["total"]["run_results"] == 2);
  CHECK(merged["total"]["telemetry"] == 2);
  CHECK(json_of(nsatune(folder, "db info --json --db both.sqlite"), "db_info")["runs"] == 2);
  const Result check = nsatune(folder, "check --db both.sqlite");
  CHECK(check.exit_code == 3);
}

TEST_CASE("a trace where no kernel can be seen is exit 4 before anything runs", "[cli]") {
  const Folder folder;
  for (const std::string flag : {"--trace", "--trace proof.json"}) {
    const Result refused = nsatune(folder, kTiny + flag);
    CHECK(refused.exit_code == 4);
    CHECK(refused.out.empty());
    CHECK(refused.err.find("run --trace: no tracer sees") != std::string::npos);
  }
  for (const char* name : {"proof.json", "results.sqlite"})
    CHECK_FALSE(std::filesystem::exists(folder.file(name)));
  CHECK(nsatune(folder, kTiny + "--trace --no-telemetry").exit_code == 2);
}

}  // namespace nsa::test
