// check of the results database: runs become nights, processes replicates, rows series.
#include <fmt/format.h>

#include "../store/support.hpp"
#include "catch.hpp"
#include "history.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

/// A run of its own on each day, made of `rows(night, process)`.
struct Nights {
  std::vector<store::RunWithRows> runs;

  Run& add(const std::string& started_at) {
    const store::RunRequest request = some_request();
    Run run;
    run.id = fmt::format("run-{:04}", runs.size());
    run.spec_hash = request.spec_hash;
    run.spec_json = request.spec_json;
    run.build_id = fmt::format("0.1.0+abc{:04} GNU 12", runs.size());
    run.environment = request.environment;
    run.environment_hash = store::environment_hash(run.environment);
    run.devices = request.devices;
    run.started_at = started_at;
    run.ended_at = started_at;
    run.state = RunState::complete;
    runs.push_back({run, {}});
    return runs.back().run;
  }

  /// A row of the last run: series `name`, median in ns.
  Measurement& row(const std::string& name, double median_ns, std::int64_t process = 0) {
    store::RunWithRows& last = runs.back();
    const auto i = static_cast<std::int64_t>(last.rows.size());
    Measurement m = some_measurement(last.run.id, 0);
    m.id = fmt::format("{}-{}", last.run.id, i);
    m.job_key = std::to_string(i);
    m.variant.name = name;
    m.process = process;
    m.median_ns = median_ns;
    m.source_hash = last.run.build_id;
    last.rows.push_back(m);
    return last.rows.back();
  }

  void write(const Folder& folder) const {
    store::Store::open(folder.file("results.sqlite")).add_runs(runs);
  }
};

std::string day(int number) {
  return fmt::format("2026-{:02}-{:02}T02:00:00.000Z", 1 + number / 28, 1 + number % 28);
}

double time_of(int night, int process, double factor = 1) {
  return 1e5 * factor * (1 + 0.005 * wobble(night, 0) + 0.001 * wobble(night, 7 + process));
}

/// `count` nights of series a, with a step from night `step_at` on.
Nights some_nights(int count, double factor = 1, int step_at = 0) {
  Nights nights;
  for (int night = 0; night < count; ++night) {
    nights.add(day(night));
    for (int process = 0; process < 3; ++process)
      nights.row("a", time_of(night, process, night >= step_at ? factor : 1), process);
  }
  return nights;
}

Json check(const Folder& folder, const Nights& nights, const std::string& flags = "") {
  std::filesystem::remove(folder.file("results.sqlite"));
  nights.write(folder);
  const Result result = nsatune(folder, "check --json " + flags);
  INFO(result.err);
  Json document = json_of(result, "check");
  CHECK(document["exit_code"] == result.exit_code);
  return document;
}

}  // namespace

TEST_CASE("runs of a database are nights, and every time doubled is exit 1", "[check]") {
  const Folder folder;
  const Json document = check(folder, some_nights(30, 2, 25));
  CHECK(document["exit_code"] == 1);
  CHECK(document["nights"] == 30);
  REQUIRE(document["series"].size() == 1);
  const Json& series = document["series"][0];
  CHECK(series["name"] ==
        "attend_selected/a.bq=64.st=3 prefill 1x256 fp32 12/2x64 l32 d16 b64 n16 w512 random eager "
        "host cold @ Some CPU");
  const Json& change = series["changes"].at(0);
  CHECK(change["index"] == 25);
  CHECK(change["time"] == "2026-01-26");
  CHECK(change["first_commit"] == "abc0024");
  CHECK(change["last_commit"] == "abc0025");
  CHECK(change["ratio"].get<double>() == Approx(2).epsilon(0.01));
}

TEST_CASE("the first nights of a database warm up, and an empty one exits 3", "[check]") {
  const Folder folder;
  CHECK(check(folder, some_nights(1))["series"][0]["missing_nights"] == 6);
  CHECK(check(folder, some_nights(1))["exit_code"] == 3);
  CHECK(check(folder, Nights{})["exit_code"] == 3);
}

TEST_CASE("controls, held-out rows and what a build does not have are no series", "[check]") {
  const Folder folder;
  Nights nights = some_nights(8);
  nights.row("control", 9e9).control = true;
  nights.row("b", 9e9).held_out = true;
  nights.row("c", 0).outcome = Outcome::unsupported;
  const Json document = check(folder, nights);
  REQUIRE(document["series"].size() == 1);
  CHECK(document["series"][0]["state"] == "ok");
}

TEST_CASE("a crash of the last night is failed, with its reason, and a gap is missing", "[check]") {
  const Folder folder;
  Nights nights = some_nights(9);
  nights.add(day(9));
  nights.row("b", 1e5);
  CHECK(check(folder, nights)["series"][0]["state"] == "missing");
  Measurement& crashed = nights.row("a", 1);
  crashed.outcome = Outcome::crashed;
  crashed.reason = "signal 11";
  const Json document = check(folder, nights, "--fail-on missing");
  CHECK(document["series"][0]["state"] == "failed");
  CHECK(document["exit_code"] == 4);
}

TEST_CASE("runs of a day are one night; another build of that day replaces the first", "[check]") {
  const Folder folder;
  Nights nights = some_nights(8);
  nights.add("2026-01-08T05:00:00.000Z").build_id = "0.1.0+def GNU 12";
  nights.row("b", 1e5);
  const Json document = check(folder, nights);
  CHECK(document["nights"] == 8);
  CHECK(document["series"][0]["state"] == "missing");
  CHECK(document["series"][1]["state"] == "new");
  const Result result = nsatune(folder, "check");
  CHECK(result.err.find("run run-0007 is left out") != std::string::npos);
}

TEST_CASE("another environment begins an epoch, and its step is not code", "[check]") {
  const Folder folder;
  Nights nights = some_nights(30, 1.2, 20);
  for (std::size_t i = 20; i < 30; ++i)
    nights.runs[i].run.environment.facts[0].value = "590.10";  // the driver
  const Json document = check(folder, nights);
  CHECK(document["exit_code"] == 0);
  CHECK(document["series"][0]["state"] == "environment");
  CHECK(document["series"][0]["nights"] == 10);
}

TEST_CASE("series of a variant that step in one night are one alert", "[check]") {
  const Folder folder;
  Nights nights = some_nights(30, 1.1, 25);
  for (int night = 0; night < 30; ++night) {
    const Measurement row = nights.runs[static_cast<std::size_t>(night)].rows[0];
    Measurement longer = row;
    longer.id += "-long";
    longer.job_key += "-long";
    longer.problem.seq_lens = {4096};
    longer.median_ns = *row.median_ns * 10;
    nights.runs[static_cast<std::size_t>(night)].rows.push_back(longer);
  }
  const Json document = check(folder, nights);
  CHECK(document["counts"]["confirmed"] == 2);
  REQUIRE(document["alerts"].size() == 1);
  CHECK(document["alerts"][0]["series"].size() == 2);
  CHECK(nsatune(folder, "check").out.find("confirmed: 2 series in 1 alert") != std::string::npos);
}

TEST_CASE("a baseline may be the id of a run", "[check]") {
  const Folder folder;
  const Nights nights = some_nights(40, 1.1, 20);
  CHECK(check(folder, nights)["exit_code"] == 0);
  CHECK(check(folder, nights, "--baseline run-0019")["exit_code"] == 1);
  CHECK(check(folder, nights, "--baseline abc0020")["exit_code"] == 0);
}

TEST_CASE("a baseline may be a label, and the last run that has it is meant", "[check]") {
  const Folder folder;
  const Nights nights = some_nights(40, 1.1, 20);
  check(folder, nights);
  CHECK(nsatune(folder, "db label run-0012 run-0019 --label good").exit_code == 0);
  CHECK(nsatune(folder, "db label run-0025 --label 2026-01-05").exit_code == 0);  // also a day
  CHECK(nsatune(folder, "check --baseline good").exit_code == 1);
  CHECK(nsatune(folder, "check --baseline 2026-01-05").exit_code == 0);
  CHECK(nsatune(folder, "db label run-0020 --label good").exit_code == 0);
  CHECK(nsatune(folder, "check --baseline good").exit_code == 0);
  const Result none = nsatune(folder, "check --baseline gone");
  CHECK(none.exit_code == 2);
  CHECK(none.err.find("no night has this label") != std::string::npos);
}

TEST_CASE("two boards of a model in one night have histories of their own", "[check]") {
  const Folder folder;
  Nights nights;
  for (int night = 0; night < 10; ++night) {
    for (const std::string board : {"board-1", "board-2"}) {
      nights.add(day(night)).devices[0].uuid = board;
      nights.row("a", time_of(night, 0, board == "board-1" ? 1 : 1.1)).placement[0].device_uuid =
          board;
    }
  }
  const Json document = check(folder, nights);
  REQUIRE(document["series"].size() == 2);
  CHECK(document["series"][0]["state"] == "ok");
  CHECK(document["series"][1]["device"] == "Some CPU board-2");
  CHECK(document["series"][1]["nights"] == 10);
}

}  // namespace nsa::test
