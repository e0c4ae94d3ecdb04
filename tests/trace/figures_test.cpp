// Busy, idle and their parts, by hand.
#include "analyse/context.hpp"
#include "analyse/launches.hpp"
#include "catch.hpp"
#include "traces.hpp"

namespace nsa::test {

TEST_CASE("time on one line: span, busy, compute, communication and their overlap", "[trace]") {
  // us:   0    5    10   15   20   25   30
  // k1    [---------)                         compute, stream 7
  // nccl       [---------)                    communication, stream 9
  // k2                             [----)     compute
  // copy                       [----)         27 is in both
  const auto s =
      JsonTrace()
          .kernel("k1", 0, 0, 10, 7)
          .kernel("my_NcclDevKernel", 0, 5, 10, 9)
          .kernel("k2", 0, 25, 5, 7)
          .event("gpu_memcpy", "Memcpy HtoD", "22", "5", R"(, "args": {"device": 0, "stream": 7})")
          .summary();
  REQUIRE(s.gpu);
  CHECK(s.gpu->span_ns == 30000);
  CHECK(s.gpu->busy_ns == 23000);
  CHECK(s.gpu->idle_ns == 7000);
  CHECK(s.gpu->compute_ns == 15000);
  CHECK(s.gpu->comm_ns == 10000);
  CHECK(s.gpu->mem_ns == 5000);
  CHECK(s.gpu->comm_overlapped_by_compute_ns == 5000);
  CHECK(s.gpu->exposed_comm_ns == 5000);
  CHECK(s.gpu->kernel_sum_ns == 25000);
  CHECK(s.gpu->op_sum_ns == 30000);
  CHECK(s.gpu->kernels == 3);
  CHECK(s.gpu->memops == 1);
  CHECK(s.gpu->comm_kernels == 1);
  CHECK(s.gpu->distinct_kernels == 3);
  CHECK(s.gpu->same_stream_overlaps == 1);  // k2 starts before the copy of its stream ends
}

TEST_CASE("a device and a stream have figures of their own, the file their sums", "[trace]") {
  const auto s = JsonTrace()
                     .kernel("a", 0, 0, 10, 7, 0)
                     .kernel("b", 0, 5, 10, 7, 1)
                     .kernel("c", 0, 20, 10, 8, 1)
                     .summary();
  CHECK(s.gpu->span_ns == 30000);
  CHECK(s.gpu->busy_ns == 30000);
  CHECK(s.gpu->idle_ns == 5000);
  REQUIRE(s.devices.size() == 2);
  CHECK(s.worst_device == 1);
  CHECK(s.devices[0].gpu.span_ns == 10000);
  CHECK(s.devices[1].gpu.span_ns == 25000);
  CHECK(s.devices[1].gpu.idle_ns == 5000);
  REQUIRE(s.devices[1].streams.size() == 2);
  CHECK(s.devices[1].streams[1].stream == 8);
  CHECK(s.devices[1].streams[1].gpu.idle_ns == 0);
}

TEST_CASE("what one GPU computes hides no communication of another one", "[trace]") {
  const auto s = JsonTrace()
                     .kernel("ncclDevKernel_AllReduce", 0, 0, 10, 9, 0)
                     .kernel("gemm", 0, 0, 10, 7, 1)
                     .summary();
  CHECK(s.gpu->exposed_comm_ns == 10000);
  CHECK(s.gpu->comm_overlapped_by_compute_ns == 0);
  CHECK(s.worst_device == 0);
}

TEST_CASE("a wait of one process is no cause of another one's idle GPU", "[trace]") {
  JsonTrace t;
  t.launched("a", 1, 0, 2, 8).launched("b", 2, 60, 100, 10).kernel("c", 1, 0, 2, 7, 1);
  t.kernel("d", 2, 50, 2, 7, 1);
  trace::Trace read = t.read();
  for (trace::GpuOp& op : read.ops) op.process = op.device == 1 ? 1 : 0;
  read.calls.push_back(read.calls.back());
  read.threads.push_back({"6", "2", ""});  // of the other process
  read.calls.back() = {.start_ns = 65'000,
                       .end_ns = 99'000,
                       .correlation = 9,
                       .name = read.names.intern("cudaDeviceSynchronize"),
                       .thread = 1,
                       .process = 1,
                       .driver = false};
  const auto s = trace::summarize(read);
  CHECK(s.devices.at(0).gpu.idle_by_class_ns.sync == 0);
  CHECK(s.devices.at(0).gpu.idle_by_class_ns.host_wait == 50'000);
}

TEST_CASE("idle time is split where its cause changes, the profiler first", "[trace]") {
  // One gap from 10 to 100; b is launched at 60, the host waits from 20 to 40, the profiler works
  // from 30 to 50 and from 70 to 75.
  const auto s = JsonTrace()
                     .launched("a", 1, 0, 2, 8)
                     .launched("b", 2, 60, 100, 10)
                     .call("cudaStreamSynchronize", 3, 20, 20)
                     .event("overhead", "Buffer Flush", "30", "20")
                     .event("overhead", "Activity Buffer Request", "70", "5")
                     .event("overhead", "Command Buffer Full", "10", "80")  // CUDA's own
                     .summary();
  const auto& idle = s.gpu->idle_by_class_ns;
  CHECK(s.gpu->idle_ns == 90000);
  CHECK(idle.profiler_overhead == 25000);
  CHECK(idle.sync == 10000);
  CHECK(idle.blocking_call == 10000 + 20000 + 15000);
  CHECK(idle.host_wait == 0);
  CHECK(idle.kernel_wait == 10000);
  CHECK(idle.other == 0);
}

TEST_CASE("a wait of the host goes before a pending launch, the profiler before both", "[trace]") {
  const auto s = JsonTrace()
                     .launched("a", 1, 0, 2, 8)
                     .launched("b", 2, 20, 100, 10)
                     .call("cudaStreamSynchronize", 3, 40, 30)
                     .event("overhead", "Buffer Flush", "50", "10")
                     .summary();
  const auto& idle = s.gpu->idle_by_class_ns;
  CHECK(idle.host_wait == 10000);
  CHECK(idle.kernel_wait == 20000 + 30000);
  CHECK(idle.sync == 10000 + 10000);
  CHECK(idle.profiler_overhead == 10000);
}

TEST_CASE("operations that touch do not overlap, in whatever order they were written", "[trace]") {
  const auto s = JsonTrace()
                     .launched("c", 3, 2.5, 30, 10)
                     .launched("a", 1, 0.5, 10, 10)
                     .launched("b", 2, 1.5, 20, 10)
                     .summary();
  CHECK(s.gpu->same_stream_overlaps == 0);
  CHECK(s.gpu->span_ns == 30000);
  CHECK(s.gpu->idle_ns == 0);
}

TEST_CASE("an operation without a time stamp is counted and in no figure", "[trace]") {
  const auto s = JsonTrace().kernel("lost", 1, 0, 0).kernel("k", 2, 5000, 10).summary();
  CHECK(s.gpu_ops_without_time == 1);
  CHECK(s.gpu->kernels == 1);
  CHECK(s.gpu->span_ns == 10000);
}

TEST_CASE("a gap that ends with an operation of unknown launch is nobody's", "[trace]") {
  const auto s = JsonTrace().launched("a", 1, 0, 2, 8).kernel("b", 0, 20, 5).summary();
  CHECK(s.gpu->idle_by_class_ns.other == 10000);
  CHECK(s.gpu->idle_by_class_ns.host_wait == 0);
  CHECK(s.gpu_ops_with_launch == 1);
  CHECK(s.gpu_ops_without_launch == 1);
}

TEST_CASE("without API calls the causes are unknown, not zero", "[trace]") {
  const auto s = JsonTrace().kernel("a", 1, 0, 2).kernel("b", 2, 10, 2).summary();
  const auto& idle = s.gpu->idle_by_class_ns;
  CHECK_FALSE(idle.host_wait.has_value());
  CHECK_FALSE(idle.kernel_wait.has_value());
  CHECK_FALSE(idle.sync.has_value());
  CHECK(idle.other == 8000);
  CHECK_FALSE(s.api_calls.has_value());
  CHECK_FALSE(s.launch_to_start_ns.has_value());
  for (const char* key : {"api_calls", "host_syncs", "launch_to_start_ns", "launch_apis", "stages",
                          "steps", "memory", "idle_by_class_ns.sync"}) {
    CAPTURE(key);
    CHECK(s.null_reasons.count(key) == 1);
  }
}

TEST_CASE("kernels are grouped by name, percentiles are by nearest rank", "[trace]") {
  JsonTrace t;
  for (int i = 0; i < 100; ++i) t.launched("k", i + 1, 10 * i, 10 * i + 0.001 * (i + 1), 1 + i % 4);
  t.launched("big", 999, 2000, 2001, 1000);
  const auto s = t.summary();
  REQUIRE(s.kernels_by_name->size() == 2);
  CHECK(s.kernels_by_name->at(0).name == "big");
  const auto& k = s.kernels_by_name->at(1);
  CHECK(k.count == 100);
  CHECK(k.total_ns == 250000);
  CHECK(k.min_ns == 1000);
  CHECK(k.median_ns == 2000);
  CHECK(k.max_ns == 4000);
  CHECK(s.launch_apis->at("cudaLaunchKernel") == 101);
  CHECK(s.launch_to_start_ns->p50 == 51);
  CHECK(s.launch_to_start_ns->p99 == 100);
  CHECK(s.launch_to_start_ns->max == 1000);
  CHECK(s.launch_to_start_ns->mean == 60);  // (1 + ... + 100 + 1000) / 101 = 59.9
}

TEST_CASE("all nodes of a graph belong to its launch, and the runtime's call is the launch",
          "[trace]") {
  const auto s =
      JsonTrace()
          .event("cuda_driver", "cuGraphLaunch", "1", "1", R"(, "args": {"correlation": 5})")
          .call("cudaGraphLaunch", 5, 0, 3)
          .kernel("a", 5, 10, 1)
          .kernel("b", 5, 11, 1)
          .kernel("c", 5, 12, 1)
          .summary();
  CHECK(s.launch_apis == std::map<std::string, std::int64_t>{{"cudaGraphLaunch", 3}});
  CHECK(s.api_calls == 2);
  CHECK(s.gpu_ops_with_launch == 3);

  const auto same_start =
      JsonTrace()
          .event("cuda_driver", "cuLaunchKernel", "1", "1", R"(, "args": {"correlation": 5})")
          .call("cudaLaunchKernel", 5, 1, 1)
          .kernel("a", 5, 10, 1)
          .summary();
  CHECK(same_start.launch_apis->count("cudaLaunchKernel") == 1);
}

TEST_CASE("spans of a thread that cut each other are counted, nested ones are not", "[trace]") {
  const auto s = JsonTrace()
                     .range("outer", 0, 10)
                     .range("inner", 2, 3)
                     .range("same end", 5, 5)
                     .range("cuts", 8, 5)
                     .range("after", 13, 5)
                     .range("elsewhere", 9, 20, 2)
                     .summary();
  CHECK(s.partial_overlaps_on_a_thread == 1);
}

TEST_CASE("a file without a GPU has no figures and says why", "[trace]") {
  const auto s = JsonTrace().range("aten::add", 0, 10, 1, "cpu_op").summary();
  CHECK_FALSE(s.gpu.has_value());
  CHECK_FALSE(s.kernels_by_name.has_value());
  CHECK(s.devices.empty());
  CHECK(s.null_reasons.at("span_ns") == "no GPU operation was recorded");
  CHECK(s.partial_overlaps_on_a_thread == 0);
}

TEST_CASE("a call that blocks the host is a wait with its class, and a cause of idle time",
          "[trace]") {
  const auto copy = [](JsonTrace& t, const char* name, int correlation, const char* at,
                       long bytes) {
    t.event("gpu_memcpy", name, at, "1",
            R"(, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7, "correlation": )" +
                std::to_string(correlation) + R"(, "bytes": )" + std::to_string(bytes) + "}");
  };
  JsonTrace t;
  t.launched("a", 1, 0, 0, 10);
  t.call("cudaMemcpyAsync", 2, 10, 20);  // to pageable memory: until it is done
  copy(t, "Memcpy DtoH (Device -> Pageable)", 2, "29", 4);
  t.call("cudaMemcpyAsync", 3, 30, 5);  // staged at once
  copy(t, "Memcpy HtoD (Pageable -> Device)", 3, "40", 65536);
  t.call("cudaMemcpyAsync", 4, 40, 7);
  copy(t, "Memcpy HtoD (Pageable -> Device)", 4, "50", 65537);
  t.call("cudaMemcpyAsync", 5, 50, 9);
  copy(t, "Memcpy HtoD (Pinned -> Device)", 5, "60", 1 << 20);
  t.call("hipMemcpyWithStream", 6, 60, 3);
  t.call("cudaMalloc", 7, 64, 2).call("cudaMallocAsync", 8, 66, 2);
  t.event("overhead", "Command Buffer Full", "70", "6");
  t.launched("b", 9, 78, 80, 1);
  const auto s = t.summary();
  std::map<std::string, std::int64_t> waits;
  for (const auto& row : *s.host_syncs) waits[row.wait] += row.total_ns;
  CHECK(waits == std::map<std::string, std::int64_t>{
                     {"copy", 30000}, {"allocation", 2000}, {"queue_full", 6000}});
  // Idle in blocking calls: 10 to 29, 41 to 47 (a copy ends at 41), 61 to 63, 64 to 66, 70 to 76.
  CHECK(s.gpu->idle_by_class_ns.blocking_call == 19000 + 6000 + 2000 + 2000 + 6000);
  REQUIRE(s.copies->size() == 3);
  CHECK(s.copies->at(0).kind == "HtoD");
  CHECK(s.copies->at(0).memory == "pageable");
  CHECK(s.copies->at(0).count == 2);
  CHECK(s.copies->at(0).best_gb_per_s == Approx(65.537));
}

TEST_CASE("the rate of a copy whose size is absurd is a number", "[trace]") {
  const auto s = trace::summarize(trace::read_json_trace(
      R"json([{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,
           "ts":10,"dur":0.001,"args":{"device":0,"stream":7,"bytes":9223372036854775807}}])json",
      "test"));
  REQUIRE(s.copies->size() == 1);
  CHECK(s.copies->at(0).bytes == INT64_MAX);
  CHECK(s.copies->at(0).best_gb_per_s == Approx(1e12));  // the most that is said
}

}  // namespace nsa::test
