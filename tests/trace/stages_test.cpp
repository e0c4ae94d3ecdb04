// Whose work a kernel is: by the range around its launch.
#include "analyse/stages/names.hpp"
#include "catch.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

std::map<std::string, std::int64_t> times(const trace::Summary& s) {
  std::map<std::string, std::int64_t> out{{"unattributed", s.unattributed_ns.value()}};
  for (const trace::StageRow& row : s.stages.value()) out[row.stage] = row.total_ns;
  return out;
}
using Times = std::map<std::string, std::int64_t>;

}  // namespace

TEST_CASE("our names and those of the PyTorch implementation are the same stages", "[trace]") {
  using trace::stage_of_range;
  CHECK(stage_of_range("attend_selected") == "attend_selected");
  CHECK(stage_of_range("attend_selected/fused_query S=2048") == "attend_selected");
  CHECK(stage_of_range("decode/gate_combine") == "gate_combine");
  CHECK(stage_of_range("projections+rope") == "project_rope");
  CHECK(stage_of_range("pcmp_all") == "pcmp");
  CHECK(stage_of_range("map_pcmp_to_pslc") == "pslc");
  CHECK(stage_of_range("topk+ranges") == "topk+ranges");
  CHECK(stage_of_range("nsa.sel.ranges_v2") == "ranges");
  CHECK(stage_of_range("v2_run_detection") == "ranges");
  CHECK(stage_of_range("autograd::engine::evaluate_function: MulBackward0") == "backward");
  CHECK(stage_of_range("Optimizer.step#AdamW.step") == "optimizer");
  CHECK(stage_of_range("nccl:all_reduce") == "communication");
  CHECK_FALSE(stage_of_range("aten::mul, op_id = 7").has_value());
  CHECK_FALSE(stage_of_range("attend").has_value());
  CHECK_FALSE(stage_of_range("").has_value());
  CHECK(trace::parent_of_stage("pslc") == "score");
  CHECK_FALSE(trace::parent_of_stage("ranges").has_value());
}

TEST_CASE("the directions of a training step are classes of their own, and so are its other parts",
          "[trace]") {
  using trace::stage_of_range;
  CHECK(stage_of_range("forward/attend_selected") == "attend_selected");
  CHECK(stage_of_range("forward/mlp") == "forward/mlp");
  CHECK(stage_of_range("backward/ranges") == "backward/ranges");
  CHECK(stage_of_range("recompute/score") == "recompute/score");
  CHECK_FALSE(stage_of_range("backward/something").has_value());
  const auto s = JsonTrace()
                     .range("step 0", 0, 70)
                     .range("forward/attend_selected", 0, 9)
                     .range("forward/mlp", 10, 9)
                     .range("backward/head", 20, 9)
                     .range("backward/attend_selected", 30, 9)
                     .range("optimizer/clip", 40, 9)
                     .range("optimizer/adamw", 50, 9)
                     .range("recompute/attend_selected", 60, 9)
                     .launched("a", 1, 2, 101, 1)
                     .launched("b", 2, 12, 111, 2)
                     .launched("c", 3, 22, 121, 4)
                     .launched("d", 4, 32, 131, 8)
                     .launched("e", 5, 42, 141, 16)
                     .launched("f", 6, 52, 161, 32)
                     .launched("g", 7, 62, 201, 64)
                     .summary();
  CHECK(times(s) == Times{{"attend_selected", 1000},
                          {"forward/mlp", 2000},
                          {"backward/head", 4000},
                          {"backward/attend_selected", 8000},
                          {"optimizer/clip", 16000},
                          {"optimizer/adamw", 32000},
                          {"recompute/attend_selected", 64000},
                          {"unattributed", 0}});
}

TEST_CASE("a kernel belongs to the innermost stage around its launch, not around itself",
          "[trace]") {
  const auto s = JsonTrace()
                     .range("score", 0, 10)
                     .range("pcmp", 2, 3)
                     .range("ranges", 10, 5)
                     .launched("in pcmp", 1, 3, 11, 1)  // runs while the host is in ranges
                     .launched("in score", 2, 6, 20, 2)
                     .launched("in ranges", 3, 12, 30, 4)
                     .launched("outside", 4, 16, 40, 8)
                     .kernel("no launch", 0, 50, 16)
                     .summary();
  CHECK(times(s) ==
        Times{{"pcmp", 1000}, {"score", 2000}, {"ranges", 4000}, {"unattributed", 24000}});
  CHECK(s.gpu->op_sum_ns == 31000);
}

TEST_CASE("backward on another thread, optimizer and communication are classes of their own",
          "[trace]") {
  const auto s =
      JsonTrace()
          .range("attend_selected", 0, 100, 1)
          .range("autograd::engine::evaluate_function: AddBackward0", 0, 100, 2, "cpu_op")
          .range("attend_window", 60, 10, 2)  // recomputed under gradient checkpointing
          .range("Optimizer.step#AdamW.step", 200, 50, 1)
          .call("cudaLaunchKernel", 1, 10, 1, 2)
          .kernel("backward", 1, 300, 1)
          .call("cudaLaunchKernel", 2, 65, 1, 2)
          .kernel("recomputed", 2, 310, 2)
          .call("cudaLaunchKernel", 3, 30, 1, 2)
          .kernel("ncclDevKernel_AllReduce", 3, 320, 4)
          .launched("adam", 4, 210, 330, 8)
          .call("cudaStreamSynchronize", 5, 20, 7, 2)
          .call("cudaStreamSynchronize", 6, 150, 5, 1)
          .summary();
  CHECK(times(s) == Times{{"backward", 1000},
                          {"attend_window", 2000},
                          {"communication", 4000},
                          {"optimizer", 8000},
                          {"unattributed", 0}});
  REQUIRE(s.host_syncs->size() == 2);
  CHECK(s.host_syncs->at(0).stage == "backward");
  CHECK(s.host_syncs->at(0).total_ns == 7000);
  CHECK_FALSE(s.host_syncs->at(1).stage.has_value());
}

TEST_CASE("a graph's kernels are those of the stage that launched it, unless it says its own",
          "[trace]") {
  const auto s =
      JsonTrace()
          .range("attend_selected", 0, 10)
          .call("cudaGraphLaunch", 1, 5, 1)
          .kernel("a", 1, 20, 1)
          .event(
              "kernel", "b", "30", "2",
              R"(, "args": {"device": 0, "stream": 7, "correlation": 1, "stage": "gate_combine"})")
          .summary();
  CHECK(times(s) == Times{{"attend_selected", 1000}, {"gate_combine", 2000}, {"unattributed", 0}});
}

TEST_CASE("a range that was never popped ends where the next stage begins", "[trace]") {
  const auto s =
      JsonTrace()
          .raw(R"({"ph":"B","cat":"nvtx","name":"map_pcmp_to_pslc","pid":5,"tid":1,"ts":0})")
          .range("topk+ranges", 10, 5)
          .launched("pslc", 1, 5, 20, 1)
          .launched("topk", 2, 12, 30, 2)
          .launched("after", 3, 18, 40, 4)
          .summary();
  CHECK(times(s) == Times{{"pslc", 1000}, {"topk+ranges", 2000}, {"unattributed", 4000}});
}

TEST_CASE("attention kernels carry their backend", "[trace]") {
  const auto s = JsonTrace()
                     .launched("void pytorch_flash::flash_fwd_kernel<...>(p)", 1, 0, 10, 1)
                     .launched("fmha_cutlassF_bf16_aligned_64x64_rf_sm80", 2, 1, 20, 1)
                     .launched("cudnn_generated_fort_native_sdpa_sm90_flash_fprop", 3, 2, 30, 1)
                     .launched("void nsa::cuda::attend_selected_kernel<64>()", 4, 3, 40, 1)
                     .range("aten::_scaled_dot_product_attention_math", 5, 3, 1, "cpu_op")
                     .launched("softmax_warp_forward", 5, 6, 50, 1)
                     .launched("nvjet_gemm", 6, 7, 60, 1)
                     .launched("nvjet_gemm", 7, 9, 70, 1)  // the same kernel outside of attention
                     .summary();
  Times kernels;
  for (const auto& row : *s.attention) kernels[row.backend] = row.kernels;
  CHECK(kernels ==
        Times{{"flash", 1}, {"memory_efficient", 1}, {"cudnn", 1}, {"ours", 1}, {"math", 2}});
  for (const auto& row : *s.kernels_by_name) {
    if (row.name == "softmax_warp_forward") CHECK(row.attention_backend == "math");
    if (row.name == "nvjet_gemm") CHECK_FALSE(row.attention_backend.has_value());
  }
}

TEST_CASE("steps are annotated, NVTX ranges, or from one optimizer step to the next", "[trace]") {
  const auto annotated = JsonTrace()
                             .range("ProfilerStep#7", 0, 10)
                             .range("ProfilerStep#8", 10, 10)
                             .launched("a", 1, 9, 15, 1)  // launched in 7, runs in 8
                             .launched("b", 2, 12, 30, 2)
                             .call("cudaDeviceSynchronize", 3, 13, 4)
                             .launched("c", 4, 25, 50, 2)
                             .summary();
  REQUIRE(annotated.steps->size() == 2);
  CHECK(annotated.steps->at(0).source == "annotation");
  CHECK(annotated.steps->at(0).gpu->busy_ns == 1000);
  CHECK(annotated.steps->at(1).gpu->busy_ns == 2000);
  CHECK(annotated.steps->at(1).host_syncs == 1);
  CHECK(annotated.steps->at(1).host_sync_ns == 4000);

  const auto nvtx =
      JsonTrace().range("step 1", 0, 10, 1, "nvtx").launched("a", 1, 5, 6, 1).summary();
  REQUIRE(nvtx.steps->size() == 1);
  CHECK(nvtx.steps->at(0).source == "nvtx");

  const auto nested = JsonTrace()
                          .range("step 1", 0, 10, 1, "nvtx")
                          .range("iteration 1", 2, 5, 1, "nvtx")
                          .launched("a", 1, 3, 6, 1)
                          .summary();
  REQUIRE(nested.steps->size() == 1);
  CHECK(nested.steps->at(0).gpu->kernels == 1);

  const auto detected = JsonTrace()
                            .launched("a", 1, 1, 2, 1)
                            .range("Optimizer.step#SGD.step", 5, 5)
                            .launched("b", 2, 12, 13, 1)
                            .range("Optimizer.step#SGD.step", 15, 5)
                            .launched("rest", 3, 30, 31, 1)
                            .summary();
  REQUIRE(detected.steps->size() == 2);
  CHECK(detected.steps->at(0).source == "detected");
  CHECK(detected.steps->at(0).start_ns == 1000);
  CHECK(detected.steps->at(0).duration_ns == 9000);
  CHECK(detected.steps->at(1).start_ns == 10000);
  CHECK(detected.steps->at(1).gpu->kernels == 1);

  CHECK_FALSE(JsonTrace().kernel("k", 0, 0, 1).summary().steps.has_value());
}

TEST_CASE("ranges that may be steps are some where nothing better marks any", "[trace]") {
  const auto names = [](const JsonTrace& t) {
    std::vector<std::string> out;
    for (const trace::Step& step : t.summary().steps.value_or(std::vector<trace::Step>{}))
      out.push_back(step.name);
    return out;
  };
  using Names = std::vector<std::string>;
  JsonTrace t;
  t.range("train_step", 0, 10).launched("k", 1, 1, 2, 3);
  CHECK(names(t).empty());  // one alone is none
  t.range("train_step", 20, 10).range("train_step", 21, 5).launched("k", 2, 21, 22, 3);
  CHECK(names(t) == Names{"train_step #1", "train_step #2"});
  JsonTrace batches;
  batches.range("batch 7", 0, 9).range("batch 8", 20, 9).launched("k", 1, 1, 2, 3);
  CHECK(names(batches) == Names{"batch 7", "batch 8"});
  CHECK(batches.summary().annotations->at(0).name == "batch N");
  batches.range("step 1", 10, 5);
  CHECK(names(batches) == Names{"step 1"});
}

TEST_CASE("the time between two steps belongs to the first, on the device's line too", "[trace]") {
  const auto s = JsonTrace()
                     .range("ProfilerStep#1", 0, 8, 1, "Operator")  // as files of 2021 have it
                     .range("ProfilerStep#2", 10, 10, 1, "Operator")
                     .range("ProfilerStep#3", 25, 10, 1, "Operator")
                     .launched("a", 1, 1, 20, 5)
                     .launched("between", 2, 9, 30, 5)
                     .launched("b", 3, 11, 50, 5)
                     .launched("c", 4, 26, 100, 10)
                     .summary();
  REQUIRE(s.steps->size() == 3);
  CHECK(s.steps->at(0).duration_ns == 10000);
  CHECK(s.steps->at(0).gpu->kernels == 2);
  CHECK(s.steps->at(0).device_ns == 30000);
  CHECK(s.steps->at(1).device_ns == 50000);
  CHECK(s.steps->at(2).device_ns == 10000);
  REQUIRE(s.step_times);
  CHECK(s.step_times->on_device);
  CHECK(s.step_times->median_ns == 30000);
  CHECK(s.step_times->worst_ns == 50000);
  CHECK(s.step_times->worst == 1);
  REQUIRE_FALSE(s.step_times->causes.empty());
  CHECK(s.step_times->causes.front().what == "before_next_step");
  CHECK(s.step_times->causes.front().more_ns == 30000);  // 45 us, and 15 us in the median
}

TEST_CASE("steps that nobody marked are the longest sequence of kernels that repeats", "[trace]") {
  const auto loop = [](bool launches) {
    JsonTrace t;
    int id = 0;
    for (int step = 0; step < 5; ++step) {
      const double at = 1000.0 * step;
      const auto kernel = [&](const char* name, double start) {
        ++id;
        launches ? t.launched(name, id, at + start - 1, at + start, 2)
                 : t.kernel(name, 0, at + start, 2);
      };
      kernel("embed", 100);
      for (int layer = 0; layer < 3; ++layer) {
        kernel("gemm", 110 + 10 * layer);
        kernel("softmax", 113 + 10 * layer);
      }
      kernel("adam", 150);
    }
    return t.summary();
  };
  for (const bool launches : {true, false}) {
    CAPTURE(launches);
    const auto s = loop(launches);
    REQUIRE(s.steps);
    REQUIRE(s.steps->size() == 5);
    CHECK(s.steps->front().source == "repeating_kernels");
    CHECK(s.steps->front().gpu->kernels == 8);
    CHECK(s.step_times->median_ns == 1'000'000);
  }
  JsonTrace none;  // nothing comes again in the same order
  unsigned random = 1;
  for (int i = 0; i < 200; ++i) {
    random = random * 1664525 + 1013904223;
    none.kernel("k" + std::to_string(random >> 28), 0, 10 * i, 2);
  }
  CHECK_FALSE(none.summary().steps.has_value());
}

TEST_CASE("a few alike kernels around all others are no steps", "[trace]") {
  // Three steps of different work: of what stands between two calls of "zero" five of eight pieces
  // are alike, but they hold 15 of 160 kernels.
  JsonTrace t;
  double at = 0;
  int work = 0;
  const auto kernels = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) t.kernel(name, 0, at += 10, 2);
  };
  for (int step = 0; step < 3; ++step) {
    kernels({"zero", "add", "mul", "zero"});
    for (int i = 0; i < 47; ++i) kernels({"work" + std::to_string(work++)});
  }
  kernels({"zero", "add", "mul", "zero", "add", "mul", "zero"});
  CHECK_FALSE(t.summary().steps.has_value());
}

TEST_CASE("halves of a step that take turns are no steps", "[trace]") {
  JsonTrace t;
  double at = 0;
  for (int half = 0; half < 6; ++half) {
    t.kernel("zero", 0, at += 10, 2);
    for (int i = 0; i < (half % 2 == 0 ? 9 : 7); ++i)
      t.kernel((half % 2 == 0 ? "forward" : "backward") + std::to_string(i), 0, at += 10, 2);
  }
  CHECK_FALSE(t.summary().steps.has_value());
}

TEST_CASE("memory of the GPU: peaks and the largest allocations", "[trace]") {
  const auto memory = [](const char* ts, long bytes, long allocated, long reserved, int type) {
    return std::string(R"({"ph":"i","cat":"cpu_instant_event","name":"[memory]","ts":)") + ts +
           R"(,"args":{"Bytes":)" + std::to_string(bytes) +
           R"(,"Addr":140000000000000,"Device Id":0,"Device Type":)" + std::to_string(type) +
           R"(,"Total Allocated":)" + std::to_string(allocated) + R"(,"Total Reserved":)" +
           std::to_string(reserved) + "}}";
  };
  const auto s = JsonTrace()
                     .raw(memory("3", -100, 50, 400, 1))
                     .raw(memory("1", 100, 100, 300, 1))
                     .raw(memory("2", 50, 150, 400, 1))
                     .raw(memory("2", 5000, 5000, 5000, 0))  // the CPU's
                     .summary();
  REQUIRE(s.memory.has_value());
  CHECK(s.memory->peak_allocated_bytes == 150);
  CHECK(s.memory->peak_reserved_bytes == 400);
  CHECK(s.memory->last_allocated_bytes == 50);
  REQUIRE(s.memory->top_allocations.size() == 2);
  CHECK(s.memory->top_allocations[0].bytes == 100);
}

}  // namespace nsa::test
