// report results and report compare through the real program.
#include "../store/support.hpp"
#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {
namespace {

/// A run of two processes on one problem, whose times are `factor` times 1 ms.
std::string add_run(store::Store& db, double factor) {
  store::RunRequest request = some_request();
  request.always_new = true;
  const store::OwnedRun owned = db.open_run(request);
  int number = 0;
  for (std::int64_t process = 0; process < 2; ++process) {
    for (std::int64_t round = 0; round < 4; ++round) {
      Measurement row = some_measurement(owned.run().id, number++);
      row.problem.seq_lens = {256};
      row.process = process;
      row.round = round;
      const auto jitter = static_cast<std::int64_t>(100 * ((process + round) % 3));
      for (Sample& sample : row.samples)
        sample.device_ns = static_cast<std::int64_t>(1e6 * factor) + jitter;
      row.median_ns = static_cast<double>(row.samples.front().device_ns);
      db.add(row);
    }
  }
  return owned.run().id;
}

}  // namespace

TEST_CASE("results of past runs are printed again, by default those of the newest", "[cli]") {
  const Folder folder;
  std::string first, second;
  {
    store::Store db = store::Store::open(folder.file("results.sqlite"));
    first = add_run(db, 1);
    second = add_run(db, 1.2);
  }
  const Json newest = json_of(nsatune(folder, "report results --json"), "report_results");
  REQUIRE(newest["runs"].size() == 1);
  CHECK(newest["runs"][0]["run_id"] == second);
  const Json both =
      json_of(nsatune(folder, "report results --json " + first.substr(0, 8) + " " + second),
              "report_results");
  REQUIRE(both["runs"].size() == 2);
  CHECK(both["runs"][0]["run_id"] == first);
  CHECK_FALSE(both["runs"][0]["results"].empty());
  CHECK(nsatune(folder, "report results " + first).out.find(first) == 0);
  CHECK(nsatune(folder, "report results nobody").exit_code == 2);
}

TEST_CASE("two runs are compared variant by variant", "[cli]") {
  const Folder folder;
  std::string first, second;
  {
    store::Store db = store::Store::open(folder.file("results.sqlite"));
    first = add_run(db, 1);
    second = add_run(db, 1.2);
  }
  const Result text = nsatune(folder, "report compare " + first + " " + second);
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("1 of 1 differ by more than their noise") != std::string::npos);
  CHECK(text.out.find("slower") != std::string::npos);
  const Json document =
      json_of(nsatune(folder, "report compare --json " + first + " " + second), "report_compare");
  REQUIRE(document["compared"].size() == 1);
  CHECK(document["compared"][0]["ratio"].get<double>() == Approx(1.2).epsilon(0.01));
  CHECK(document["compared"][0]["differs"] == true);
  const Json same =
      json_of(nsatune(folder, "report compare --json " + first + " " + first), "report_compare");
  CHECK(same["compared"][0]["differs"] == false);
  CHECK(nsatune(folder, "report compare " + first).exit_code == 2);
}

}  // namespace nsa::test
