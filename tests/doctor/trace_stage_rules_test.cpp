// Rules over stages of a trace that are inferred, and layers that are computed again.
#include "trace_rules.hpp"

namespace nsa::test {
namespace {

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

}  // namespace

TEST_CASE("only a backward pass computes a layer again, and each once", "[doctor]") {
  JsonTrace t;
  for (int i = 0; i < 10; ++i) {
    const double at = 1000.0 * i;
    t.range("CheckpointFunction", at, 100, 1, "cpu_op");
    t.launched("gemm", i + 1, at + 10, at + 20, 900);
  }
  CHECK_FALSE(found(report_of(t), "trace_checkpointing"));
  for (int i = 0; i < 10; ++i) {
    const double at = 1000.0 * i + 200;
    t.range("autograd::engine::evaluate_function: CheckpointFunctionBackward", at, 102, 2,
            "cpu_op");
    t.range("CheckpointFunctionBackward", at + 1, 100, 2, "cpu_op");
  }
  const doctor::Report report = report_of(t);
  REQUIRE(found(report, "trace_checkpointing"));
  CHECK(found(report, "trace_checkpointing")->facts.front().count == 10);
  CHECK(found(report, "trace_checkpointing")->facts.front().ns == 1'000'000);
}

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

}  // namespace nsa::test
