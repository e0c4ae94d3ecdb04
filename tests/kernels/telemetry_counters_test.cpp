#include <thread>

#include "catch.hpp"
#include "nsa/kernels/documents.hpp"
#include "nsa/schemas/json.hpp"

using namespace nsa;

TEST_CASE("calls are counted by stage and name, from several threads", "[kernels][telemetry]") {
  Telemetry telemetry;
  const auto work = [&] {
    for (int i = 0; i < 1000; ++i) {
      telemetry.engaged(Stage::attend_selected, "masked");
      telemetry.engaged(Stage::attend_window, i % 2 ? "fa2_varlen" : "sdpa_math");
      telemetry.fallback(Stage::attend_window, "fa2_dense: does not support this problem");
      telemetry.slow_path();
    }
  };
  std::thread other(work);
  work();
  other.join();
  const TelemetryReport report = telemetry.report();
  CHECK(report.engaged.at({"attend_selected", "masked"}) == 2000);
  CHECK(report.engaged.at({"attend_window", "sdpa_math"}) == 1000);
  CHECK(report.engaged.size() == 3);
  CHECK(report.fallback.at({"attend_window", "fa2_dense: does not support this problem"}) == 2000);
  CHECK(report.slow_path_calls == 2000);
  telemetry.reset();
  CHECK(telemetry.report().engaged.empty());
}

TEST_CASE("mean and share of full rows are over all rows that were noted", "[kernels][telemetry]") {
  Telemetry telemetry;
  telemetry.selection_rows(10, 1000, 120, 0);
  telemetry.selection_rows(30, 30 * 1024, 1024, 30);
  telemetry.selection_rows(0, 0, 0, 0);
  const TelemetryReport report = telemetry.report();
  CHECK(report.sel_rows == 40);
  CHECK(report.sel_k_max == 1024);
  CHECK(report.sel_k_mean == Approx((1000.0 + 30 * 1024) / 40));
  CHECK(report.sel_pct_at_max == Approx(0.75));
}

TEST_CASE("the largest need and the number of grow events come from the workspace",
          "[kernels][telemetry]") {
  Telemetry telemetry;
  Workspace workspace;
  (void)workspace.take(1 << 20);
  workspace.note_need({3, 400, 5, 6});
  telemetry.workspace(workspace);
  const TelemetryReport report = telemetry.report();
  CHECK(report.grow_events == workspace.grow_events());
  CHECK(report.grow_events > 0);
  CHECK(report.peak_workspace_bytes >= 1 << 20);
  CHECK(report.need == ReserveNeed{3, 400, 5, 6});
}

TEST_CASE("telemetry obeys its JSON Schema", "[kernels][telemetry]") {
  Telemetry telemetry;
  CHECK_NOTHROW(validate_json(telemetry_to_json(telemetry.report()), "telemetry", "telemetry"));
  telemetry.engaged(Stage::score, "exact");
  telemetry.fallback(Stage::score, "p_cmp_bf16: unknown to this build");
  telemetry.overlap(0.95);
  Problem p;
  telemetry.selection_rows_of(p);
  telemetry.reads(reads_pred(p), reads_act(p));
  const Json j = telemetry_to_json(telemetry.report());
  CHECK_NOTHROW(validate_json(j, "telemetry", "telemetry"));
  CHECK(j["engaged"][0]["variant"] == "exact");
  CHECK(j["reads_pred"] == 1663);
  Json broken = j;
  broken["sel_pct_at_max"] = 99;
  CHECK_THROWS_AS(validate_json(broken, "telemetry", "telemetry"), InputError);
}

TEST_CASE("the slow path is warned about once per reason", "[kernels][telemetry]") {
  CHECK(warn_slow_path_once("test: one"));
  CHECK(!warn_slow_path_once("test: one"));
  CHECK(warn_slow_path_once("test: two"));
}
