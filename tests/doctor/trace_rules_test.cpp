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

/// Steps of 10 ms on several GPUs of one process: 3 ms in which the next batch is loaded, then a
/// kernel of 6.7 ms on each.
JsonTrace loading_for(int gpus) {
  JsonTrace t;
  for (int step = 0, id = 1; step < 10; ++step) {
    const double at = 10'000.0 * step;
    t.range("ProfilerStep#" + std::to_string(step), at, 9990);
    t.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", at + 5, 3000);
    for (int gpu = 0; gpu < gpus; ++gpu, ++id) {
      t.call("cudaLaunchKernel", id, at + 3011 + 10 * gpu, 6);
      t.kernel("gemm", id, at + 3100 + 10 * gpu, 6700, 7, gpu);
    }
    t.call("cudaDeviceSynchronize", id++, at + 3200, 6690);
  }
  return t;
}

/// 3 ms of communication after a kernel in each of five steps; that of the second GPU runs beside
/// half a kernel.
JsonTrace communicating() {
  JsonTrace t;
  for (int step = 0, id = 1; step < 5; ++step)
    for (int gpu = 0; gpu < 2; ++gpu, id += 2) {
      const double at = 10'000.0 * step;
      t.call("cudaLaunchKernel", id, at + gpu, .5);
      t.call("cudaLaunchKernel", id + 1, at + gpu + 2, .5);
      t.kernel("gemm", id, at + 10, 6000 + 1500 * gpu, 7, gpu);
      t.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", id + 1, at + 6010, 3000, 20, gpu);
    }
  return t;
}

}  // namespace

TEST_CASE("what several GPUs wait for at the same time is lost once", "[doctor]") {
  for (const int gpus : {1, 4, 8}) {
    CAPTURE(gpus);
    const doctor::Report report = report_of(loading_for(gpus));
    const doctor::Found* idle = found(report, "trace_idle_gpu");
    REQUIRE(idle);
    CHECK(idle->gain.at_most_ns == 9 * 3'300'000);  // between the steps of one GPU
    CHECK(idle->gain.of_ns == 96'700'000 + 10'000 * (gpus - 1));
    CHECK(idle->message.starts_with(gpus == 1 ? "the GPU is idle 29.7 ms of 96.7 ms"
                                              : "GPU 0 is idle 29.7 ms of 96.7 ms"));
    CHECK((idle->message.find("most of 4 GPUs") != std::string::npos) == (gpus == 4));
    CHECK(idle->advice.starts_with("load data sooner"));
    const doctor::Found* data = found(report, "trace_data_loading");
    REQUIRE(data);
    CHECK(data->gain.at_most_ns == 27'000'000);
    CHECK_FALSE(found(report, "trace_launch_bound"));
  }
}

TEST_CASE("exposed communication is that of the GPU that hides least, not the sum", "[doctor]") {
  const doctor::Report report = report_of(communicating());
  const doctor::Found* exposed = found(report, "trace_exposed_comm");
  REQUIRE(exposed);
  CHECK(exposed->gain.at_most_ns == 5 * 3'000'000);
  CHECK(exposed->gain.of_ns == 49'000'000);
  CHECK(exposed->message.starts_with("15 ms of 15 ms of communication on GPU 0 are hidden by no"));
}

TEST_CASE("a GPU that gets nothing but a copy now and then is not called idle", "[doctor]") {
  JsonTrace t;
  for (int i = 0; i < 20; ++i) {
    t.launched("gemm", 2 * i + 1, 1000.0 * i, 1000.0 * i + 10, 985);
    t.call("cudaMemcpyAsync", 2 * i + 2, 1000.0 * i + 5, 2);
    t.event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", std::to_string(1000 * i + 20), "2",
            R"(, "args": {"device": 1, "stream": 7, "correlation": )" + std::to_string(2 * i + 2) +
                R"(, "bytes": 64})");
  }
  CHECK(report_of(t).findings.empty());
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
