// Operators, modules and annotations: whose work a kernel was.
#include "catch.hpp"
#include "nsa/trace/write.hpp"
#include "traces.hpp"

namespace nsa::test {

TEST_CASE("operators have the GPU time of what they launched, alone and with children", "[trace]") {
  const auto s =
      JsonTrace()
          .op("aten::linear", 0, 20, R"("External id": 1)")
          .op("aten::addmm", 5, 10,
              R"("External id": 2, "Input Dims": [[4], [2, 3], [3, 4], []], "Input type": ["f"])")
          .launched("gemm", 1, 8, 30, 7)
          .launched("bias", 2, 16, 40, 2)
          .op("aten::linear", 50, 5, "")
          .summary();
  REQUIRE(s.operators);
  REQUIRE(s.operators->size() == 2);
  const auto& addmm = s.operators->at(0);
  CHECK(addmm.name == "aten::addmm");
  CHECK(addmm.gpu_self_ns == 7000);
  CHECK(addmm.flop == 2 * 2 * 3 * 4);
  REQUIRE(addmm.shapes.size() == 1);
  CHECK(addmm.shapes[0].inputs == "[[4],[2,3],[3,4],[]]");
  const auto& linear = s.operators->at(1);
  CHECK(linear.count == 2);
  CHECK(linear.host_ns == 25000);
  CHECK(linear.host_self_ns == 15000);
  CHECK(linear.gpu_ns == 9000);
  CHECK(linear.gpu_self_ns == 2000);
}

TEST_CASE("an operator's time of its own leaves out operators in an annotation within it",
          "[trace]") {
  const auto s = JsonTrace()
                     .op("All2All_Pooled_Req", 0, 100, "")
                     .range("## encoder fp8 ##", 10, 50)
                     .op("alltoall_base_", 20, 30, "")
                     .launched("k", 1, 25, 30, 7)
                     .summary();
  REQUIRE(s.operators);
  REQUIRE(s.operators->size() == 2);
  CHECK(s.operators->at(0).host_self_ns == 30000);
  CHECK(s.operators->at(1).name == "All2All_Pooled_Req");
  CHECK(s.operators->at(1).host_ns == 100000);
  CHECK(s.operators->at(1).host_self_ns == 70000);
}

TEST_CASE("an operation whose launch was not recorded goes by its External id", "[trace]") {
  const auto kernel = [](JsonTrace& t, int correlation, int external) {
    t.event("kernel", "k", "50", "4",
            R"(, "args": {"device": 0, "stream": 7, "correlation": )" +
                std::to_string(correlation) + R"(, "External id": )" + std::to_string(external) +
                "}");
  };
  JsonTrace t;
  t.op("aten::mm", 0, 10, R"("External id": 5)").call("cudaGetDevice", 1, 2, 1);
  kernel(t, 9, 5);
  CHECK(t.summary().operators->at(0).gpu_ns == 4000);
  JsonTrace old;  // files of 2022 repeat the correlation where there is no operator
  old.op("aten::mm", 0, 10, R"("External id": 9)").call("cudaGetDevice", 1, 2, 1);
  kernel(old, 9, 9);
  CHECK(old.summary().operators->at(0).gpu_ns == 0);
}

TEST_CASE("a module has its forward pass, and backward by autograd's sequence numbers", "[trace]") {
  const auto module = [](JsonTrace& t, const char* name, double start, double dur) {
    t.range(std::string("nn.Module: ") + name, start, dur, 1, "python_function");
  };
  JsonTrace t;
  module(t, "Net_0", 0, 40);
  module(t, "Linear_0", 5, 10);
  t.op("aten::mm", 6, 5, R"("Sequence number": 3, "Fwd thread id": 0)");
  t.launched("forward", 1, 7, 100, 8);
  t.op("MmBackward0", 60, 10, R"("Sequence number": 3, "Fwd thread id": 1)", 2);
  t.call("cudaLaunchKernel", 2, 61, 1, 2).kernel("backward", 2, 200, 16);
  t.launched("elsewhere", 3, 50, 300, 1);
  const auto s = t.summary();
  REQUIRE(s.modules);
  REQUIRE(s.modules->size() == 2);
  for (const auto& row : *s.modules) {
    CAPTURE(row.name);
    CHECK(row.gpu_ns == 8000);
    CHECK(row.backward_ns == 16000);
    CHECK(row.gpu_self_ns == (row.name == "Linear_0" ? 8000 : 0));
  }
}

/// A module's product, and its backward on another thread, without autograd's numbers.
JsonTrace linked_by_arrow() {
  JsonTrace t;
  t.range("nn.Module: Linear_0", 5, 10, 1, "python_function");
  t.op("aten::mm", 6, 5, R"("External id": 11)").launched("forward", 1, 7, 100, 8);
  t.raw(R"({"ph":"f","bp":"e","cat":"fwdbwd","name":"fwdbwd","id":4,"pid":5,"tid":2,"ts":60})");
  t.raw(R"({"ph":"s","cat":"fwdbwd","name":"fwdbwd","id":4,"pid":5,"tid":1,"ts":6})");
  t.raw(R"({"ph":"s","cat":"fwdbwd","name":"fwdbwd","id":5,"pid":5,"tid":1,"ts":6})");  // no end
  t.op("MmBackward0", 60, 10, "", 2);
  t.event("cuda_runtime", "cudaLaunchKernel", "61", "1",
          R"(, "pid": 5, "tid": 2, "args": {"External id": 12, "correlation": 2})");
  t.kernel("backward", 2, 200, 16);
  return t;
}

TEST_CASE("the backward of a module is found by an arrow where there are no numbers", "[trace]") {
  const auto s = linked_by_arrow().summary();
  REQUIRE(s.modules);
  REQUIRE(s.modules->size() == 1);
  CHECK(s.modules->front().gpu_ns == 8000);
  CHECK(s.modules->front().backward_ns == 16000);
}

/// The row of that name.
trace::AnnotationRow annotation(const trace::Summary& s, const std::string& name) {
  for (const auto& row : s.annotations.value())
    if (row.name == name) return row;
  return {};
}

TEST_CASE("an annotation has what autograd's thread launches for its thread meanwhile", "[trace]") {
  JsonTrace t;
  t.range("ProfilerStep#4", 0, 100).range("block", 5, 10).range("loss.backward", 50, 40);
  t.op("aten::mm", 6, 5, R"("Sequence number": 3, "Fwd thread id": 0)");
  t.launched("forward", 1, 7, 100, 8);
  t.op("MmBackward0", 60, 10, R"("Sequence number": 3, "Fwd thread id": 1)", 2);
  t.call("cudaLaunchKernel", 2, 61, 1, 2).kernel("backward", 2, 200, 16);
  t.op("aten::copy_", 72, 10, "", 2);  // nothing says for whom
  t.call("cudaLaunchKernel", 3, 73, 1, 2).kernel("copy", 3, 300, 32);
  t.op("autograd::engine::evaluate_function: AccumulateGrad", 83, 5, "", 2);
  t.call("cudaLaunchKernel", 4, 84, 1, 2).kernel("all-reduce of a hook", 4, 400, 64);
  const auto s = t.summary();
  const auto step = annotation(s, "ProfilerStep#N"), block = annotation(s, "block"),
             pass = annotation(s, "loss.backward");
  CHECK(step.gpu_ns == 88000);
  CHECK(step.projected_ns == 364000);  // from 100 to 464
  CHECK(step.backward_ns == 0);
  CHECK(pass.gpu_ns == 80000);
  CHECK(pass.projected_ns == 264000);
  CHECK(block.gpu_ns == 8000);
  CHECK(block.projected_ns == 8000);
  CHECK(block.backward_ns == 16000);  // launched after its end
}

TEST_CASE("an annotation has the backward that an arrow leads to, on its own thread too",
          "[trace]") {
  JsonTrace t = linked_by_arrow();
  t.range("block", 5, 10).range("train", 0, 100);
  const auto s = t.summary();
  CHECK(annotation(s, "train").gpu_ns == 24000);
  CHECK(annotation(s, "block").gpu_ns == 8000);
  CHECK(annotation(s, "block").backward_ns == 16000);
  JsonTrace one;  // a backward pass on the thread of the forward pass counts once
  one.range("train", 0, 100).range("block", 5, 10);
  one.op("aten::mm", 6, 5, R"("Sequence number": 3, "Fwd thread id": 0)");
  one.launched("forward", 1, 7, 100, 8);
  one.op("MmBackward0", 60, 10, R"("Sequence number": 3, "Fwd thread id": 1)");
  one.launched("backward", 2, 61, 200, 16);
  const auto alone = one.summary();
  CHECK(annotation(alone, "train").gpu_ns == 24000);
  CHECK(annotation(alone, "block").backward_ns == 16000);
}

TEST_CASE("a number of autograd that two threads count alike says nothing", "[trace]") {
  JsonTrace t;
  t.range("first", 0, 20).range("second", 0, 20, 3);
  t.op("aten::mm", 6, 5, R"("Sequence number": 3, "Fwd thread id": 0)");
  t.launched("forward", 1, 7, 100, 8);
  t.op("aten::mm", 8, 5, R"("Sequence number": 3, "Fwd thread id": 0)", 3);
  t.call("cudaLaunchKernel", 4, 9, 1, 3).kernel("forward", 4, 120, 8);
  t.op("MmBackward0", 60, 10, R"("Sequence number": 3, "Fwd thread id": 2)", 2);
  t.call("cudaLaunchKernel", 2, 61, 1, 2).kernel("backward", 2, 200, 16);
  const auto s = t.summary();
  CHECK(annotation(s, "first").backward_ns == 0);
  CHECK(annotation(s, "second").backward_ns == 0);
}

TEST_CASE("arrows of autograd and External ids of calls survive a conversion", "[trace]") {
  const TemporaryFile file("x");
  const std::string path = file.path() + ".json";
  trace::write_chrome_trace(linked_by_arrow().read(), path);
  const trace::Trace again = trace::read_trace(path);
  std::remove(path.c_str());
  REQUIRE(again.flows.size() == 1);
  CHECK(again.flows[0].end_ns - again.flows[0].start_ns == 54000);
  CHECK(again.calls.back().external == 12);
  CHECK(trace::summarize(again).modules->front().backward_ns == 16000);
}

TEST_CASE("a step that files of 2021 write as an operator is none", "[trace]") {
  JsonTrace t;
  for (int step = 0; step < 3; ++step) {
    t.event("Operator", "ProfilerStep#" + std::to_string(step), std::to_string(100 * step), "90",
            R"(, "pid": 5, "tid": 1)");
    t.event("Operator", "aten::mm", std::to_string(100 * step + 5), "40",
            R"(, "pid": 5, "tid": 1)");
    t.launched("gemm", step + 1, 100 * step + 6, 100 * step + 10, 20);
  }
  const auto s = t.summary();
  CHECK(s.steps->size() == 3);
  REQUIRE(s.operators->size() == 1);
  CHECK(s.operators->front().name == "aten::mm");
  CHECK(s.operators->front().host_self_ns == 120'000);
}

TEST_CASE("work is of its annotation, of data loading, or of the forward pass", "[trace]") {
  const auto s = JsonTrace()
                     .range("ProfilerStep#4", 0, 100)
                     .range("train", 0, 90)  // holds the optimizer, so it says nothing
                     .range("enumerate(DataLoader)#_SingleProcess.__next__", 0, 10)
                     .range("aten::stack", 2, 2, 1, "cpu_op")
                     .launched("batch", 1, 3, 200, 1)
                     .range("aten::mm", 20, 2, 1, "cpu_op")
                     .launched("forward", 2, 21, 210, 2)
                     .range("loss 12", 30, 10)
                     .range("aten::sum", 31, 2, 1, "cpu_op")
                     .launched("loss", 3, 32, 220, 4)
                     .range("Optimizer.step#SGD.step", 50, 10)
                     .launched("sgd", 4, 55, 230, 8)
                     .launched("nothing around", 5, 95, 240, 16)
                     .summary();
  std::map<std::string, std::int64_t> times{{"unattributed", *s.unattributed_ns}};
  for (const auto& row : *s.stages) times[row.stage] = row.total_ns;
  CHECK(times == std::map<std::string, std::int64_t>{{"data loading", 1000},
                                                     {"forward", 2000},
                                                     {"loss N", 4000},
                                                     {"optimizer", 8000},
                                                     {"unattributed", 16000}});
  REQUIRE(s.annotations);
  CHECK(s.annotations->front().name == "ProfilerStep#N");
  CHECK(s.annotations->front().projected_ns == 56000);
  CHECK(s.annotations->front().gpu_ns == 31000);
}

TEST_CASE("arguments of operators and collectives survive a conversion", "[trace]") {
  const TemporaryFile file("x");
  const std::string path = file.path() + ".json";
  JsonTrace t;
  t.op(
      "aten::mm", 0, 9,
      R"("External id": 5, "Sequence number": 3, "Fwd thread id": 1, "Input Dims": [[2, "]"], []])");
  t.event(
      "kernel", "ncclDevKernel", "5", "4",
      R"(, "args": {"device": 0, "stream": 7, "Comms Id": 18446744073709551615, "Group size": 8})");
  trace::write_chrome_trace(t.read(), path);
  const trace::Trace again = trace::read_trace(path);
  std::remove(path.c_str());
  REQUIRE(again.ranges.size() == 1);
  CHECK(again.ranges[0].external == 5);
  CHECK(again.ranges[0].sequence == 3);
  CHECK(again.ranges[0].forward_thread == 1);
  CHECK(again.names.text(again.ranges[0].arguments) == R"("Input Dims":[[2, "]"], []])");
  CHECK(again.names.text(again.ops[0].arguments) ==
        R"("Comms Id":18446744073709551615,"Group size":8)");
}

}  // namespace nsa::test
