// What a decision costs at run time: choose() in ns, opening a bundle of 100 devices in ms.
//   bench_routing --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nsa/kernels/routing.hpp"
#include "nsa/kernels/telemetry.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::bench {
namespace {

namespace fs = std::filesystem;
constexpr int kDevices = 100;
constexpr int kRanges = 4;

void run_nothing(const LaunchArgs&) {}
Support any(const Problem&, const Device&) noexcept { return Support::yes(); }

constexpr std::array kSelected{Stage::attend_selected};
constexpr std::array kWindow{Stage::attend_window};
constexpr std::array kBranches{Stage::attend_compressed, Stage::score};

Variant row(std::span<const Stage> stages, std::string_view name) {
  Variant v;
  v.stages = stages;
  v.name = name;
  v.dtypes = dtype_bit(Dtype::fp32) | dtype_bit(Dtype::bf16);
  v.supports = any;
  v.launch = run_nothing;
  v.switch_target = switch_target_of(name).value_or(SwitchTarget::none);
  return v;
}

/// Rows that run nothing, so that only the decision is timed.
const std::vector<Variant>& rows() {
  static const std::vector<Variant> all{row(kSelected, "fused_query"), row(kSelected, "masked"),
                                        row(kSelected, "gather"),      row(kSelected, "packed"),
                                        row(kWindow, "fa2_dense"),     row(kWindow, "sdpa_math")};
  return all;
}

Device device(int index) {
  Device d;
  d.name = "Test GPU " + std::to_string(index);
  d.id = "cpu";
  d.multiprocessors = 100 + index;
  return d;
}

Problem problem(std::int64_t seq_len, std::int64_t heads = 12) {
  Problem p;
  p.seq_lens = {seq_len};
  p.q_heads = heads;
  return p;
}

/// As the sweep `default` gives it: 24 classes, four ranges a decision.
ThresholdTable table(const Device& on) {
  ThresholdTable t;
  t.device = on;
  t.created_by = "bench";
  const char* names[kRanges] = {"packed", "masked", "gather", "fused_query"};
  for (std::int64_t heads = 1; heads <= 24; ++heads) {
    ClassDecisions c;
    c.problem_class = class_of(problem(1, 2 * heads));
    Decision d;
    d.stages = {"attend_selected"};
    for (int i = 0; i < kRanges; ++i) {
      ThresholdRange r;
      r.from = i == 0 ? 0 : 256 << i;
      if (i + 1 < kRanges) r.to = 256 << (i + 1);
      r.variant = {{"attend_selected"}, names[i], {}};
      r.source_hash = "0123456789abcdef";
      r.evidence.run_ids = {"11111111-2222-4333-8444-555555555555"};
      d.ranges.push_back(r);
    }
    c.decisions.push_back(d);
    t.classes.push_back(c);
  }
  return t;
}

Router make_router(std::vector<std::string> entries = {}) {
  Router::Inputs in;
  in.device = device(0);
  in.rows = rows();
  in.table = table(in.device);
  in.environment = snapshot_environment(entries);
  return Router(std::move(in));
}

void time_choose(benchmark::State& state, const Router& router, Stage stage, const Problem& p) {
  for (auto _ : state) {
    Choice choice = router.choose(stage, p);
    benchmark::DoNotOptimize(choice);
  }
}

void choose_tuned(benchmark::State& state) {
  const Router router = make_router();
  time_choose(state, router, Stage::attend_selected, problem(4096));
}
void choose_nearest_shape(benchmark::State& state) {
  const Router router = make_router();
  time_choose(state, router, Stage::attend_selected, problem(4096, 63));
}
void choose_built_in(benchmark::State& state) {
  const Router router = make_router();
  time_choose(state, router, Stage::attend_window, problem(4096));
}
void choose_by_environment(benchmark::State& state) {
  const Router router = make_router({"NSA_FORCE_SEL_MASK=1"});
  time_choose(state, router, Stage::attend_selected, problem(4096));
}
void choose_by_minimum_length(benchmark::State& state) {
  const Router router = make_router({"NSA_USE_FA2=1", "NSA_FA2_MIN_LEN_WIN=128"});
  time_choose(state, router, Stage::attend_window, problem(4096));
}
void choose_batch_of_16(benchmark::State& state) {
  const Router router = make_router();
  Problem p = problem(4096);
  p.seq_lens.assign(16, 4096);
  p.context_lens.assign(16, 0);
  time_choose(state, router, Stage::attend_selected, p);
}
BENCHMARK(choose_tuned);
BENCHMARK(choose_nearest_shape);
BENCHMARK(choose_built_in);
BENCHMARK(choose_by_environment);
BENCHMARK(choose_by_minimum_length);
BENCHMARK(choose_batch_of_16);

/// The real table of a CPU: rows that are asked what they support, composites, and a file that
/// decides the two branches over compressed keys together, split below 4,096 tokens.
Router real_router(std::vector<std::string> entries = {}) {
  Router::Inputs in;
  in.device = device(0);
  in.table = table(in.device);
  for (ClassDecisions& c : in.table->classes) {
    Decision d;
    d.stages = {"attend_compressed", "score"};
    const std::vector<std::string> both = d.stages;
    d.ranges.resize(2);
    d.ranges[0].to = d.ranges[1].from = 4096;
    d.ranges[0].variant = {both, "fa2_dense+streamed", {}};
    d.ranges[1].variant = {both, "fused", {}};
    c.decisions.push_back(d);
  }
  in.environment = snapshot_environment(entries);
  return Router(std::move(in));
}

void time_segmentation(benchmark::State& state, const Router& router, std::int64_t seq_len) {
  const Problem p = problem(seq_len);
  const Choice attention = router.choose(Stage::attention, p);
  for (auto _ : state) {
    Segmentation segmentation = router.segmentation(kBranches, p, &attention);
    benchmark::DoNotOptimize(segmentation);
  }
}
void segmentation_of_one_row(benchmark::State& state) {
  time_segmentation(state, real_router(), 8192);
}
void segmentation_by_stages(benchmark::State& state) {
  time_segmentation(state, real_router(), 512);
}
void segmentation_broken_up_by_a_wish(benchmark::State& state) {
  time_segmentation(state, real_router({"NSA_P_CMP_MIXED=1"}), 8192);
}
void choose_real_row(benchmark::State& state) {
  const Router router = real_router();
  time_choose(state, router, Stage::attend_selected, problem(8192));
}
void choose_attention(benchmark::State& state) {
  const Router router = real_router();
  time_choose(state, router, Stage::attention, problem(8192));
}
void choose_within_attention(benchmark::State& state) {
  const Router router = real_router();
  const Problem p = problem(8192);
  const Choice attention = router.choose(Stage::attention, p);
  for (auto _ : state) {
    Choice choice = router.choose(Stage::attend_selected, p, &attention);
    benchmark::DoNotOptimize(choice);
  }
}
BENCHMARK(segmentation_of_one_row);
BENCHMARK(segmentation_by_stages);
BENCHMARK(segmentation_broken_up_by_a_wish);
BENCHMARK(choose_real_row);
BENCHMARK(choose_attention);
BENCHMARK(choose_within_attention);

/// A folder with one file per device.
class Bundle {
 public:
  Bundle() : folder_(fs::temp_directory_path() / ("nsatune_bench_" + make_uuid())) {
    fs::create_directories(folder_);
    for (int i = 0; i < kDevices; ++i) {
      const fs::path file = folder_ / device_file_name(device(i));
      write_text_file(file.string(), dump_thresholds(table(device(i))));
    }
  }
  ~Bundle() { fs::remove_all(folder_); }
  std::string folder() const { return folder_.string(); }

 private:
  fs::path folder_;
};

void open_bundle(benchmark::State& state, const Device& here) {
  const Bundle bundle;
  for (auto _ : state) {
    auto found = find_thresholds(bundle.folder(), here);
    benchmark::DoNotOptimize(found);
  }
}
void open_bundle_exact(benchmark::State& state) { open_bundle(state, device(50)); }
void open_bundle_nearest(benchmark::State& state) { open_bundle(state, device(kDevices)); }
BENCHMARK(open_bundle_exact)->Unit(benchmark::kMillisecond);
BENCHMARK(open_bundle_nearest)->Unit(benchmark::kMillisecond);

void make_a_router(benchmark::State& state) {
  for (auto _ : state) {
    const Router router = make_router();
    benchmark::DoNotOptimize(&router);
  }
}
BENCHMARK(make_a_router)->Unit(benchmark::kMicrosecond);

void count_a_call(benchmark::State& state) {
  Telemetry telemetry;
  for (const char* name : {"masked", "gather", "packed", "fused_query"}) {
    telemetry.engaged(Stage::attend_selected, name);
  }
  for (auto _ : state) telemetry.engaged(Stage::attend_selected, "fused_query");
}
void note_rows_of_64k_queries(benchmark::State& state) {
  Telemetry telemetry;
  const Problem p = problem(65536);
  for (auto _ : state) telemetry.selection_rows_of(p);
}
BENCHMARK(count_a_call);
BENCHMARK(note_rows_of_64k_queries);

}  // namespace
}  // namespace nsa::bench

BENCHMARK_MAIN();
