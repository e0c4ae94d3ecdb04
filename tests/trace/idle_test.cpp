// Idle time by what the host did, and launches that wait.
#include <map>

#include "catch.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

using Times = std::map<std::string, std::int64_t>;

/// Idle time by its classes, those that are there.
Times classes_of(const trace::IdleClasses& idle) {
  Times out{{"host_wait", idle.host_wait.value_or(0)},
            {"kernel_wait", idle.kernel_wait.value_or(0)},
            {"sync", idle.sync.value_or(0)},
            {"blocking_call", idle.blocking_call.value_or(0)},
            {"profiler_overhead", idle.profiler_overhead.value_or(0)},
            {"other", idle.other}};
  std::erase_if(out, [](const auto& one) { return one.second == 0; });
  return out;
}

/// "api cudaMalloc" -> ns, and whether they add up to the idle time and each of its classes.
Times causes_of(const trace::Summary& s) {
  Times out, classes;
  std::int64_t all = 0;
  for (const auto& cause : s.gaps.value().causes) {
    out[cause.what + (cause.name.empty() ? "" : " " + cause.name)] = cause.total_ns;
    classes[cause.idle_class] += cause.total_ns;
    all += cause.total_ns;
  }
  CHECK(all == s.gpu->idle_ns);
  CHECK(classes == classes_of(s.gpu->idle_by_class_ns));
  return out;
}

JsonTrace& function(JsonTrace& t, const char* name, double start, double dur, int thread = 1) {
  return t.range(name, start, dur, thread, "python_function");
}

}  // namespace

TEST_CASE("idle time is what the launching thread did, moment by moment", "[trace]") {
  const auto s = JsonTrace()
                     .launched("a", 1, 0, 0, 10)
                     .call("cudaMalloc", 9, 12, 6)
                     .launched("behind malloc", 2, 20, 20, 5)  // idle from 10 to 20
                     .op("aten::nonzero", 30, 30, "")
                     .launched("behind nonzero", 3, 65, 70, 5)  // idle from 25 to 70
                     .call("cudaMalloc", 10, 40, 10, 2)         // another thread
                     .launched("pending", 4, 71, 90, 5)         // idle from 75 to 90
                     .launched("after nothing", 5, 200, 200, 1)
                     .summary();
  CHECK(causes_of(s) == Times{{"allocation cudaMalloc", 6000},
                              {"operator aten::nonzero", 30000},
                              {"launch_pending", 20000},
                              {"nothing_recorded", 119000}});
  CHECK(s.gaps->longest.at(0).ends_with == "after nothing");
  const auto& second = s.gaps->longest.at(1);
  CHECK(second.duration_ns == 45000);
  CHECK(second.name == "aten::nonzero");
  REQUIRE(second.parts.size() == 3);
  CHECK(second.parts[0].total_ns == 30000);
  CHECK(second.parts[1].what == "nothing_recorded");
  CHECK(second.parts[1].total_ns == 10000);
}

TEST_CASE("a wait of another thread is no cause of idle time, neither as a class nor as a gap",
          "[trace]") {
  const auto s = JsonTrace()
                     .launched("a", 1, 0, 0, 10)
                     .call("cudaEventSynchronize", 9, 12, 50, 2)  // waits for something else
                     .op("aten::nonzero", 20, 60, "")
                     .launched("b", 2, 90, 95, 5)
                     .summary();
  CHECK(classes_of(s.gpu->idle_by_class_ns) == Times{{"host_wait", 80000}, {"kernel_wait", 5000}});
  CHECK(causes_of(s) == Times{{"operator aten::nonzero", 60000},
                              {"nothing_recorded", 20000},
                              {"launch_pending", 5000}});
}

TEST_CASE("each moment of a gap has one class and one thing that the host did", "[trace]") {
  // Idle from 10 to 100; b is launched at 60 and waited for, a copy blocks the host before, CUDA
  // loads a module, the profiler flushes.
  const auto s = JsonTrace()
                     .launched("a", 1, 0, 0, 10)
                     .call("cudaMemcpy", 9, 12, 8)
                     .op("aten::item", 25, 30, "")
                     .event("overhead", "Lazy Function Loading", "40", "5")
                     .event("overhead", "Buffer Flush", "50", "5")
                     .launched("b", 2, 60, 100, 10)
                     .call("cudaStreamSynchronize", 3, 70, 60)
                     .summary();
  CHECK(causes_of(s) == Times{{"nothing_recorded", 2000 + 5000 + 5000},
                              {"api cudaMemcpy", 8000},
                              {"operator aten::item", 15000 + 5000},
                              {"cuda_own", 5000},
                              {"profiler", 5000},
                              {"launch_pending", 10000},
                              {"api cudaStreamSynchronize", 30000}});
  CHECK(classes_of(s.gpu->idle_by_class_ns) == Times{{"host_wait", 32000},
                                                     {"blocking_call", 8000 + 5000},
                                                     {"profiler_overhead", 5000},
                                                     {"kernel_wait", 10000},
                                                     {"sync", 30000}});
}

TEST_CASE("functions of Python stand where no operator ran, and within annotations", "[trace]") {
  JsonTrace t;
  t.launched("a", 1, 0, 0, 10).range("train", 0, 100);
  function(t, "train.py(3): main", 0, 100);
  function(t, "train.py(9): log", 12, 20);
  t.op("aten::item", 15, 5, "");
  function(t, "within the operator", 16, 2);
  t.launched("b", 2, 90, 90, 1);
  CHECK(causes_of(t.summary()) == Times{{"python train.py(3): main", 60000},
                                        {"python train.py(9): log", 15000},
                                        {"operator aten::item", 5000}});
}

TEST_CASE("what loads data is that, with the operators within it", "[trace]") {
  JsonTrace t;
  t.launched("a", 1, 0, 0, 10);
  t.range("enumerate(DataLoader)#_SingleProcess.__next__", 20, 50);
  t.op("aten::stack", 30, 10, "").launched("b", 2, 90, 90, 1);
  CHECK(causes_of(t.summary()) ==
        Times{{"data_loading enumerate(DataLoader)#_SingleProcess.__next__", 50000},
              {"nothing_recorded", 30000}});
}

TEST_CASE("where another thread takes over, the one before says what it did", "[trace]") {
  JsonTrace t;
  t.launched("forward", 1, 0, 0, 10).op("aten::loss", 10, 20, "");
  t.op("MmBackward0", 50, 20, "", 2);
  t.call("cudaLaunchKernel", 2, 60, 1, 2).kernel("backward", 2, 61, 5);
  CHECK(causes_of(t.summary()) == Times{{"operator aten::loss", 20000},
                                        {"nothing_recorded", 20000},
                                        {"operator MmBackward0", 10000},
                                        {"launch_pending", 1000}});
}

TEST_CASE("idle time before a stage is that stage's", "[trace]") {
  const auto s = JsonTrace()
                     .range("score", 0, 50)
                     .launched("a", 1, 0, 0, 10)
                     .launched("b", 2, 11, 15, 5)
                     .range("out_proj", 60, 50)
                     .launched("c", 3, 61, 70, 10)
                     .launched("d", 4, 120, 100, 10)
                     .summary();
  Times idle{{"unattributed", s.unattributed_idle_ns.value()}};
  for (const auto& row : *s.stages) idle[row.stage] = row.idle_ns.value();
  CHECK(idle == Times{{"score", 5000}, {"out_proj", 50000}, {"unattributed", 20000}});
}

TEST_CASE("a launch waits from its call to its start, and a graph is one launch", "[trace]") {
  const auto node = [](JsonTrace& t, int number, double start) {
    t.event("kernel", "node", std::to_string(start), "5",
            R"(, "args": {"device": 0, "stream": 7, "correlation": 9, "graph id": 3, )"
            R"("graph node id": )" +
                std::to_string(number) + "}");
  };
  JsonTrace t;
  t.launched("a", 1, 0, 10, 30).launched("b", 2, 15, 40, 20).launched("c", 3, 20, 60, 10);
  t.call("cudaGraphLaunch", 9, 70, 5);
  node(t, 1, 90);
  node(t, 2, 95);
  const auto s = t.summary();
  REQUIRE(s.queue);
  REQUIRE(s.queue->size() == 1);
  const auto& row = s.queue->front();
  CHECK(row.launches == 4);
  CHECK(row.most == 2);          // b and c, from 20 to 40
  CHECK(row.empty_ns == 25000);  // 10 to 15, 60 to 70, 90 to 100
  CHECK(row.mean == Approx((25.0 + 40 + 20) / 90));
  REQUIRE(row.means.size() == 60);
  CHECK(row.means.front() == 0);
  CHECK(row.means.at(15) == Approx(2));  // 32.5 to 34
  CHECK(s.gpu->graph_nodes == 2);
  for (const auto& kernel : *s.kernels_by_name) {
    CAPTURE(kernel.name);
    CHECK(kernel.graph_nodes == (kernel.name == "node" ? 2 : 0));
    CHECK(kernel.launches == (kernel.name == "node" ? 0 : 1));
    if (kernel.name == "b") CHECK(kernel.call_ns + kernel.queue_ns == 25000);
  }
}

TEST_CASE("PyTorch's NVTX ranges are operators, without the numbers in their names", "[trace]") {
  JsonTrace t;
  t.range("aten::mm, seq = 3, op_id = 7, sizes = [[2, 3], [3, 4]]", 0, 10, 1, "nvtx");
  t.launched("gemm", 1, 2, 20, 4);
  t.range("aten::mm, seq = 5, op_id = 9, sizes = [[2, 3], [3, 4]], input_op_ids = [(8,0)]", 30, 10,
          1, "nvtx");
  t.range("FSDP::pre_forward (layer 1), op_id = 10", 50, 10, 1, "nvtx");
  t.launched("copy", 2, 52, 60, 4);
  t.range("FSDP::pre_forward (layer 1), op_id = 11", 70, 10, 1, "nvtx");
  t.launched("copy", 3, 72, 80, 4);
  const auto s = t.summary();
  REQUIRE(s.operators);
  REQUIRE(s.operators->size() == 1);
  CHECK(s.operators->front().name == "aten::mm");
  CHECK(s.operators->front().count == 2);
  CHECK(s.operators->front().gpu_ns == 4000);
  CHECK(s.operators->front().flop == 2 * 2 * 2 * 3 * 4);
  REQUIRE(s.annotations);
  REQUIRE(s.annotations->size() == 1);
  CHECK(s.annotations->front().name == "FSDP::pre_forward (layer 1)");
  CHECK(s.annotations->front().count == 2);
}

}  // namespace nsa::test
