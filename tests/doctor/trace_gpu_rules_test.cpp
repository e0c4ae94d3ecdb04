// Rules over traces of several GPUs, and of communication between them.
#include "nsa/reports/doctor_text.hpp"
#include "trace_rules.hpp"

namespace nsa::test {
namespace {

/// Ten steps whose kernels wait for the host, each with communication that nothing hides on a
/// stream of its own, which no other stream waits for.
JsonTrace communicating_aside() {
  JsonTrace t;
  for (int step = 0, id = 1; step < 10; ++step) {
    const double at = 1000.0 * step;
    t.range("ProfilerStep#" + std::to_string(step), at, 999);
    for (int k = 0; k < 10; ++k, ++id) t.launched("gemm", id, at + 100 * k, at + 100 * k + 7, 20);
    t.launched("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", id++, at + 30, at + 40, 150, 20);
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
  CHECK(exposed->message.starts_with(
      "15 ms of 15 ms of communication on GPU 0 is not hidden by any"));
}

TEST_CASE("communication that may cost nothing while the host limits is a note", "[doctor]") {
  const JsonTrace t = communicating_aside();
  const doctor::Report report = report_of(t);
  const doctor::Finding& last = report.findings.back();
  REQUIRE(last.rule->id == "trace_exposed_comm");
  CHECK(last.severity() == doctor::Severity::note);
  CHECK_FALSE(last.found.gain.at_most_ns);
  CHECK(last.found.message.find("no stream is known to have waited for it") != std::string::npos);
  CHECK(last.advice.starts_with("first make the host faster"));
  const std::string text = reports::doctor_text(report, {});
  CHECK(text.find("note     Communication is not hidden") != std::string::npos);
  CHECK(text.find("1 note)") != std::string::npos);
  // Where it is in the way, it is a warning.
  CHECK_FALSE(found(report_of(communicating()), "trace_exposed_comm")->severity);
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

}  // namespace nsa::test
