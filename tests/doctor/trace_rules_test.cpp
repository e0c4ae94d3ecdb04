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

/// Ten times 20 us of repeat_interleave within attention, with these inputs.
JsonTrace repeating(const std::string& inputs) {
  JsonTrace t;
  for (int i = 0, id = 1; i < 10; ++i, id += 2) {
    const double at = 100.0 * i;
    t.range("CausalSelfAttention.forward", at, 50);
    t.op("aten::repeat_interleave", at + 1, 20, inputs);
    t.op("aten::repeat_interleave", at + 2, 10, inputs);  // which calls itself
    t.launched("copy", id, at + 5, at + 10, 20).launched("gemm", id + 1, at + 25, at + 30, 79);
  }
  return t;
}

/// Launch calls of `call_us` with kernels that begin 6 us later, on an idle GPU.
JsonTrace slow_calls(double call_us, double kernel_us) {
  JsonTrace t;
  for (int i = 0; i < 200; ++i) {
    const double at = (call_us + kernel_us + 20) * i;
    t.call("cudaLaunchKernel", i + 1, at, call_us).kernel("k", i + 1, at + 6, kernel_us);
  }
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

/// An eager loop: short kernels, each of which begins 6 us after its launch call, so that a launch
/// is pending most of the time.
JsonTrace eager(double kernel_us, double every_us) {
  JsonTrace t;
  for (int i = 0; i < 500; ++i) {
    const double at = every_us * i;
    t.range("aten::mul", at, every_us - .5, 1, "cpu_op");
    t.call("cudaLaunchKernel", i + 1, at + 1, every_us / 2).kernel("k", i + 1, at + 7, kernel_us);
  }
  return t;
}

/// Steps of 20 ms with five kernels of 1 ms, and nothing in the rest of them but what `more` adds.
template <class More>
JsonTrace resting(More more) {
  JsonTrace t;
  for (int step = 0; step < 10; ++step) {
    const double at = 20'000.0 * step;
    t.range("ProfilerStep#" + std::to_string(step), at, 19'990);
    for (int k = 0; k < 5; ++k) {
      t.range("aten::linear", at + 100 + 100 * k, 80, 1, "cpu_op");
      t.launched("gemm", 5 * step + k + 1, at + 110 + 100 * k, at + 200 + 1000 * k, 998);
    }
    more(t, at);
  }
  return t;
}

/// 500 values that the host reads back, one after two kernels each.
JsonTrace reading_back(double kernel_us) {
  JsonTrace t;
  for (int i = 0, id = 1; i < 1000; ++i) {
    const double at = 2 * kernel_us * i;
    t.launched("gemm", id++, at, at + 1, kernel_us);
    if (i % 2 == 0) continue;
    t.range("aten::item", at + 1, kernel_us + 2, 1, "cpu_op");
    t.call("cudaStreamSynchronize", id++, at + 1.5, kernel_us);
  }
  return t;
}

/// Steps in which the host waits 3 ms in one call and .9 ms in a synchronisation of aten::item.
JsonTrace waiting(const char* call, const std::string& copy) {
  JsonTrace t;
  for (int step = 0, id = 1; step < 20; ++step) {
    const double at = 5000.0 * step;
    t.range("aten::copy_", at + 5, 3010, 1, "cpu_op");
    t.call(call, id, at + 10, 3000);
    if (!copy.empty())
      t.event("gpu_memcpy", copy, std::to_string(at + 20), "2980",
              R"(, "args": {"device": 0, "stream": 7, "bytes": 12000000, "correlation": )" +
                  std::to_string(id) + "}");
    t.launched("gemm", ++id, at + 3050, at + 3100, 1000);
    t.range("aten::item", at + 3300, 900, 1, "cpu_op");
    t.call("cudaStreamSynchronize", ++id, at + 3305, 890);
    ++id;
  }
  return t;
}

std::string advice(const doctor::Report& report, std::string_view rule) {
  const doctor::Found* one = found(report, rule);
  return one ? one->advice : "";
}

}  // namespace

TEST_CASE("a host that is at work outside of operators is not told to launch faster", "[doctor]") {
  const auto nothing = [](JsonTrace&, double) {};
  const doctor::Report report = report_of(resting(nothing));
  REQUIRE(found(report, "trace_launch_bound"));
  CHECK(found(report, "trace_launch_bound")->message.ends_with(": 50 kernels"));
  for (const char* rule : {"trace_launch_bound", "trace_idle_gpu"}) {
    CHECK(advice(report, rule).find("outside of operators") != std::string::npos);
    CHECK(advice(report, rule).find("graph") == std::string::npos);
    CHECK(advice(report, rule).find("with_stack") != std::string::npos);
  }
  const doctor::Report known = report_of(resting([](JsonTrace& t, double at) {
    t.range("train.py(12): augment", at + 600, 19'000, 1, "python_function");
  }));
  CHECK(advice(known, "trace_launch_bound").find("was in train.py(12): augment") !=
        std::string::npos);
  CHECK(advice(known, "trace_launch_bound").find("with_stack") == std::string::npos);
  CHECK(advice(report_of(eager(2, 10)), "trace_launch_bound").find("graph") != std::string::npos);
}

TEST_CASE("a loop that reads values back is one of tiny kernels only where they are", "[doctor]") {
  CHECK(found(report_of(reading_back(4)), "trace_host_loop"));
  const doctor::Report report = report_of(reading_back(400));
  CHECK_FALSE(found(report, "trace_host_loop"));
  CHECK(found(report, "trace_host_syncs"));
}

TEST_CASE("a wait now and then is not said to be none a step", "[doctor]") {
  const auto message = [](int every) {
    const doctor::Report report = report_of(resting([every](JsonTrace& t, double at) {
      if (static_cast<int>(at) / 20'000 % every == 0)
        t.call("cudaDeviceSynchronize", static_cast<int>(at) + 1000, at + 700, 5000);
    }));
    const doctor::Found* one = found(report, "trace_host_syncs");
    return one ? one->message : "";
  };
  CHECK(message(1).starts_with("the host waits 10 times, 1 a step, "));
  CHECK(message(3).starts_with("the host waits 4 times, less than once a step, "));
}

TEST_CASE("what to do about waits follows what most of them wait for", "[doctor]") {
  const auto of = [](const char* call, const std::string& copy) {
    return advice(report_of(waiting(call, copy)), "trace_host_syncs");
  };
  CHECK(of("cudaMemcpyAsync", "Memcpy HtoD (Pageable -> Device)").starts_with("pin "));
  CHECK(of("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)").find("into pinned memory") !=
        std::string::npos);
  CHECK(of("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)").find("item") ==
        std::string::npos);
  CHECK(of("cuModuleLoadData", "").find("CUDA_MODULE_LOADING") != std::string::npos);
  CHECK(of("cudaDeviceSynchronize", "").empty());  // what the rule says
  const doctor::Report own = report_of(loading_for(1));
  CHECK(advice(own, "trace_host_syncs").find("torch.cuda.synchronize") != std::string::npos);
}

TEST_CASE("waits win no more than they take, whatever allocations take", "[doctor]") {
  JsonTrace t;
  for (int step = 0, id = 1; step < 10; ++step, id += 5) {
    const double at = 5000.0 * step;
    t.call("cudaMalloc", id, at + 10, 1500).call("cudaFree", id + 1, at + 1520, 1000);
    t.call("cudaHostAlloc", id + 2, at + 2600, 500);
    t.call("hipMemcpyWithStream", id + 3, at + 3300, 200);
    t.launched("gemm", id + 4, at + 3600, at + 3700, 800);
  }
  const doctor::Report report = report_of(t);
  REQUIRE(found(report, "trace_host_syncs"));
  CHECK(found(report, "trace_host_syncs")->gain.at_most_ns == 2'000'000);
  REQUIRE(found(report, "trace_allocations"));
  CHECK(*found(report, "trace_allocations")->gain.at_most_ns > 25'000'000);
}

TEST_CASE("a few allocations are found where they cost much of the time", "[doctor]") {
  const auto with = [](double us) {
    JsonTrace t;
    for (int step = 0, id = 1; step < 6; ++step, id += 2) {
      const double at = 20'000.0 * step;
      t.call("cudaMalloc", id, at, us).launched("gemm", id + 1, at + us, at + us + 10, 15'000);
    }
    return report_of(t);
  };
  const doctor::Report dear = with(3000), cheap = with(10);
  REQUIRE(found(dear, "trace_allocations"));
  CHECK(*found(dear, "trace_allocations")->gain.at_most_ns > 2'000'000);
  CHECK_FALSE(found(cheap, "trace_allocations"));
}

TEST_CASE("a gain is the path's or another bound, and its words say which", "[doctor]") {
  JsonTrace t = eager(2, 10);
  t.call("cudaStreamSynchronize", 1000, -3000, 1);  // long before the first kernel
  const doctor::Report report = report_of(t);
  const doctor::Found* bound = found(report, "trace_launch_bound");
  REQUIRE(bound);
  CHECK(bound->gain.at_most_ns == 499 * 8'000);
  CHECK(bound->gain.basis.starts_with("all idle time of the GPU but the profiler's own; the "));
  CHECK(bound->gain.basis.find("shorter without the host's own work") != std::string::npos);
}

TEST_CASE("an eager loop whose launches are pending waits for the host all the same", "[doctor]") {
  const doctor::Report fast = report_of(eager(2, 10));
  const doctor::Found* bound = found(fast, "trace_launch_bound");
  REQUIRE(bound);
  CHECK(*bound->gain.at_most_ns > 3'900'000);  // of 500 times 8 us
  REQUIRE(found(fast, "trace_idle_gpu"));
  CHECK(found(fast, "trace_idle_gpu")->advice.starts_with("the host is too slow: "));
  CHECK_FALSE(found(report_of(eager(9, 10)), "trace_launch_bound"));
}

TEST_CASE("kernels that wait long after their launch do not wait for the host", "[doctor]") {
  // In each step the first kernel comes 3 ms after its launch, the other as the host launches it.
  JsonTrace t;
  for (int step = 0, id = 1; step < 40; ++step, id += 2) {
    const double at = 5000.0 * step;
    t.launched("first", id, at, at + 3000, 100, 7);
    t.launched("second", id + 1, at + 4900, at + 4905, 50, 20);
  }
  const doctor::Report report = report_of(t);
  const doctor::Found* idle = found(report, "trace_idle_gpu");
  REQUIRE(idle);
  CHECK(
      idle->advice.starts_with("most of it passed after the launch: look for streams that wait "
                               "for each other, other processes on this GPU"));
  if (const doctor::Found* bound = found(report, "trace_launch_bound"))
    for (const doctor::Fact& fact : bound->facts)
      CHECK(fact.what.find("had already launched") == std::string::npos);
}

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
  CHECK(last.advice().starts_with("make the host faster first"));
  const std::string text = reports::doctor_text(report, {});
  CHECK(text.find("note     Communication is not hidden") != std::string::npos);
  CHECK(text.find("1 note)") != std::string::npos);
  // Where it is in the way, it is a warning.
  CHECK_FALSE(found(report_of(communicating()), "trace_exposed_comm")->severity);
}

TEST_CASE("heads are copied where K or V are, at the cost of that", "[doctor]") {
  for (const char* inputs : {R"("Input Dims": [[2, 4, 512, 64], []], "Input type": ["float", ""])",
                             R"("Input Dims": [[2, 512, 64]], "Input type": ["c10::Half"])", ""}) {
    CAPTURE(inputs);
    const doctor::Report report = report_of(repeating(inputs));
    const doctor::Found* one = found(report, "trace_heads_copied");
    REQUIRE(one);
    CHECK(one->facts.front().count == 10);
    CHECK(one->gain.at_most_ns == 200'000);
  }
  for (const char* inputs : {R"("Input Dims": [[4]], "Input type": ["long"])",
                             R"("Input Dims": [[2, 4, 512]], "Input type": ["long int"])",
                             R"("Input Dims": [[2, 512]], "Input type": ["float"])"}) {
    CAPTURE(inputs);
    CHECK_FALSE(found(report_of(repeating(inputs)), "trace_heads_copied"));
  }
}

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

TEST_CASE("a launch call that outlasts its kernel waited for it only where that is long",
          "[doctor]") {
  CHECK(found(report_of(slow_calls(118, 105)), "trace_launch_blocking"));
  CHECK_FALSE(found(report_of(slow_calls(14, 2)), "trace_launch_blocking"));
  CHECK_FALSE(found(report_of(slow_calls(24, 15)), "trace_launch_blocking"));
  CHECK_FALSE(found(report_of(slow_calls(90, 35)), "trace_launch_blocking"));
  CHECK_FALSE(found(report_of(slow_calls(10, 105)), "trace_launch_blocking"));
}

TEST_CASE("a program that is compiled is not told to compile", "[doctor]") {
  JsonTrace compiled = eager(2, 10);
  for (int step = 0; step < 10; ++step)
    compiled.range("Torch-Compiled Region: 0/0", 500.0 * step - .25, 499.9, 1, "cpu_op");
  for (const char* rule : {"trace_launch_bound", "trace_idle_gpu"}) {
    CHECK(advice(report_of(eager(2, 10)), rule).find("fuse (torch.compile)") != std::string::npos);
    CHECK(advice(report_of(compiled), rule).find("capture a CUDA graph (torch.compile with mode") !=
          std::string::npos);
  }
}

TEST_CASE("copies are seen by whatever name their recorder gives them", "[doctor]") {
  for (const char* name :
       {"Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice", "CopyDeviceToHost",
        "[CUDA memcpy Device-to-Host]", "[CUDA memcpy HtoD]"}) {
    CAPTURE(name);
    const doctor::Report report = report_of(waiting("hipMemcpyWithStream", name));
    REQUIRE(found(report, "trace_host_copies"));
    CHECK(found(report, "trace_host_copies")->facts.front().count == 20);
  }
  CHECK_FALSE(
      found(report_of(waiting("hipMemcpyWithStream", "CopyDeviceToDevice")), "trace_host_copies"));
  const auto to_do = [](const char* name) {
    return advice(report_of(waiting("hipMemcpyWithStream", name)), "trace_host_syncs");
  };
  CHECK(to_do("CopyHostToDevice").starts_with("pin "));
  CHECK(to_do("CopyDeviceToHost").starts_with("copy into pinned memory"));
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

TEST_CASE("copies with the host are not blamed for those within the device", "[doctor]") {
  JsonTrace t;
  for (int step = 0, id = 1; step < 10; ++step, id += 3) {
    const double at = 500.0 * step;
    t.launched("gemm", id, at, at + 10, 400);
    t.call("cudaMemcpyAsync", id + 1, at + 5, 2);
    t.event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", std::to_string(at + 20), "300",
            R"(, "args": {"device": 0, "stream": 20, "correlation": )" + std::to_string(id + 1) +
                R"(, "bytes": 64})");
    t.call("cudaMemcpyAsync", id + 2, at + 8, 2);
    t.event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", std::to_string(at + 410), "95",
            R"(, "args": {"device": 0, "stream": 7, "correlation": )" + std::to_string(id + 2) +
                R"(, "bytes": 64})");
  }
  CHECK_FALSE(found(report_of(t), "trace_host_copies"));
}

TEST_CASE("what runs before the steps is not said of a step", "[doctor]") {
  const auto with = [](bool in_steps) {
    JsonTrace t;
    int id = 1;
    const double first = in_steps ? 0 : 6000;
    for (int i = 0; i < 30 && !in_steps; ++i) t.call("cudaMalloc", id++, 200.0 * i, 190);
    for (int step = 0; step < 10; ++step) {
      const double at = first + 1000.0 * step;
      t.range("ProfilerStep#" + std::to_string(step), at, 990);
      for (int i = 0; i < 3 && in_steps; ++i) t.call("cudaMalloc", id++, at + 200 * i, 190);
      t.launched("gemm", id++, at + 650, at + 660, 330);
    }
    return report_of(t);
  };
  CHECK(found(with(true), "trace_allocations"));
  const doctor::Report before = with(false);
  CHECK_FALSE(found(before, "trace_allocations"));
  CHECK_FALSE(found(before, "trace_host_syncs"));
}

}  // namespace nsa::test
