// Rules over traces that the fixtures do not reach: inferred stages, and gains that are lower
// bounds.
#include "catch.hpp"
#include "nsa/doctor/gather.hpp"
#include "nsa/doctor/rule.hpp"
#include "nsa/reports/doctor_text.hpp"

#include "../trace/traces.hpp"

namespace nsa::test {
namespace {

const doctor::Found* found(const doctor::Report& report, std::string_view rule) {
  for (const doctor::Finding& finding : report.findings)
    if (finding.rule->id == rule) return &finding.found;
  return nullptr;
}

/// A GPU that is busy for 1 ms with the work of these stages.
doctor::RunEvidence busy_with(std::vector<trace::StageRow> stages) {
  doctor::TraceEvidence trace;
  trace::GpuFigures gpu;
  gpu.span_ns = gpu.busy_ns = gpu.op_sum_ns = gpu.compute_ns = 1'000'000;
  trace.summary.gpu = gpu;
  trace.summary.stages = std::move(stages);
  doctor::RunEvidence evidence;
  evidence.traces.push_back(trace);
  return evidence;
}

trace::StageRow stage(const char* name, std::int64_t total_ns,
                      std::optional<std::int64_t> backward_ns = {}) {
  trace::StageRow row;
  row.stage = name;
  row.total_ns = total_ns;
  row.backward_ns = backward_ns;
  return row;
}

JsonTrace copied(double copy_start_us) {
  JsonTrace t;
  t.launched("before", 1, 0, 10, 100);
  t.call("cudaMemcpyAsync", 2, 5, 2);
  t.event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", std::to_string(copy_start_us), "300",
          R"(, "args": {"device": 0, "stream": 20, "correlation": 2, "bytes": 64})");
  t.call("cudaStreamSynchronize", 3, 8, 500);
  t.launched("after", 4, 510, 520, 100);
  return t;
}

doctor::Report report_of(const JsonTrace& t) {
  trace::Trace trace = t.read();
  doctor::RunEvidence evidence;
  evidence.traces.push_back(doctor::examine_trace(trace));
  return doctor::examine(evidence);
}

}  // namespace

TEST_CASE("a stage that is only inferred is no finding", "[doctor]") {
  const doctor::Report named = doctor::examine(busy_with({stage("ranges", 500'000)}));
  REQUIRE(found(named, "trace_range_conversion"));
  CHECK(doctor::examine(busy_with({stage("ranges", 500'000, 0)})).findings.empty());
  auto unique = busy_with({stage("ranges", 500'000, 0)});
  unique.traces[0].suspects.push_back({"range_conversion", "", 4, 200'000, {}});
  const doctor::Report seen = doctor::examine(unique);
  REQUIRE(found(seen, "trace_range_conversion"));
  CHECK(found(seen, "trace_range_conversion")->gain.at_most_ns == 200'000);
  CHECK(found(seen, "trace_range_conversion")->message.find("ranges") == std::string::npos);
}

TEST_CASE("what is inferred is forward and backward work to the rules", "[doctor]") {
  auto evidence = busy_with({stage("attend_selected", 600'000, 250'000), stage("forward", 100'000),
                             stage("backward", 50'000)});
  evidence.traces[0].suspects.push_back({"checkpointing", "", 4, 0, {}});
  const doctor::Report report = doctor::examine(evidence);
  REQUIRE(found(report, "trace_checkpointing"));
  CHECK(found(report, "trace_checkpointing")->gain.at_most_ns == 300'000);
}

TEST_CASE("copies beside kernels of another stream win at least what is said", "[doctor]") {
  const doctor::Report beside = report_of(copied(100));  // 10 us beside the kernel before
  REQUIRE(found(beside, "trace_host_copies"));
  CHECK(found(beside, "trace_host_copies")->gain.at_least);
  CHECK(reports::doctor_text(beside, {}).find("gain  at least ") != std::string::npos);
  const doctor::Report alone = report_of(copied(120));
  REQUIRE(found(alone, "trace_host_copies"));
  CHECK_FALSE(found(alone, "trace_host_copies")->gain.at_least);
  CHECK(reports::doctor_text(alone, {}).find("gain  at least ") == std::string::npos);
}

}  // namespace nsa::test
