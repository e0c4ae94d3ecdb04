// The attention variants of the CPU beside this machine's sgemm, interleaved in one run.
//   bench_kernels                           every row at S = 2048, shares of sgemm at the end
//   bench_kernels --benchmark_filter='sgemm|fused_query.*2048'
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "cpu/blas.hpp"
#include "cpu/dense_attention.hpp"
#include "host_launch.hpp"
#include "nsa/kernels/inputs.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::bench {
namespace {

constexpr const char* kRate = "GFLOP/s";
constexpr const char* kWork = "GFLOP";

/// Problem's defaults (Hq 12, Hkv 2, D 64, l 32, d 16, l' 64, n 16, w 512) at that length.
Problem problem_at(std::int64_t seq_len, Dtype dtype) {
  Problem p;
  p.seq_lens = {seq_len};
  p.context_lens = {0};
  p.dtype = dtype;
  return p;
}

void set_rate(benchmark::State& state, double flop) {
  state.counters[kRate] =
      benchmark::Counter(flop * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters[kWork] = flop * 1e-9;
}

void sgemm(benchmark::State& state) {
  constexpr std::int64_t kSide = 2048;
  const std::vector<float> a(kSide * kSide, 0.5f), b(kSide * kSide, 0.25f);
  std::vector<float> c(kSide * kSide);
  for (auto _ : state) {
    parallel_gemm({a.data(), kSide, kSide, kSide}, {b.data(), kSide, kSide, kSide},
                  {c.data(), kSide, kSide, kSide});
  }
  set_rate(state, 2.0 * kSide * kSide * kSide);
}

/// Everything that one launch needs, made once per benchmark.
struct Prepared {
  Prepared(const Variant& row, const Problem& problem, const Point& point = {})
      : inputs(make_inputs(row.stages, problem, 1)),
        outputs(make_outputs(row.stages, problem)),
        launch{.row = row, .problem = problem, .in = {}, .out = {}, .point = point} {
    for (const HostTensor& t : inputs) launch.in.push_back(t.view());
    for (const HostTensor& t : outputs) launch.out.push_back(t.view());
  }
  LaunchArgs args() {
    workspace.reset();
    return launch.args(workspace);
  }

  std::vector<HostTensor> inputs, outputs;
  test::HostLaunch launch;
  Workspace workspace;
};

void launch_row(benchmark::State& state, const Variant& variant, const Point& point,
                const Problem& problem) {
  Prepared prepared(variant, problem, point);
  variant.launch(prepared.args());  // threads, pages, workspace
  for (auto _ : state) variant.launch(prepared.args());
  set_rate(state, variant.cost(problem).flop);
}

void launch_dense(benchmark::State& state, const Problem& problem) {
  const Variant& row = *candidates_of(Stage::attend_window, Backend::cpu).front();
  Prepared prepared(row, problem);
  for (auto _ : state) {
    const LaunchArgs args = prepared.args();
    cpu::dense_attention(args, BandTensors::of(args, Branch::win));
  }
  const auto s = static_cast<double>(problem.seq_lens[0]);
  const auto width =
      static_cast<double>(problem.q_heads * (problem.head_dim_k + problem.head_dim_v));
  set_rate(state, 2 * width * s * (s + 1) / 2);
}

void finish(benchmark::internal::Benchmark* bench) {
  bench->UseRealTime()->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond)->MinTime(0.1);
}

void register_all() {
  finish(benchmark::RegisterBenchmark("sgemm", sgemm));
  const std::pair<std::int64_t, Dtype> sizes[] = {
      {512, Dtype::fp32}, {2048, Dtype::fp32}, {2048, Dtype::bf16}, {8192, Dtype::fp32}};
  for (const auto& [seq_len, dtype] : sizes) {
    const Problem problem = problem_at(seq_len, dtype);
    const std::string suffix = "/" + std::to_string(seq_len) + "/" + std::string(to_string(dtype));
    finish(benchmark::RegisterBenchmark(
        ("dense" + suffix).c_str(),
        [problem = problem](benchmark::State& state) { launch_dense(state, problem); }));
    for (const Variant& variant : catalog()) {
      const bool attends =
          variant.stages.size() == 1 && (variant.stages[0] == Stage::attend_selected ||
                                         variant.stages[0] == Stage::attend_window ||
                                         variant.stages[0] == Stage::attend_compressed);
      if (!attends || variant.direction != Direction::forward || variant.backend != Backend::cpu ||
          !variant.launch)
        continue;
      for (const VariantId& id : ids_of(variant)) {
        finish(benchmark::RegisterBenchmark(
            (to_string(id) + suffix).c_str(),
            [&variant, id, problem = problem](benchmark::State& state) {
              launch_row(state, variant, id.point, problem);
            }));
      }
    }
  }
}

/// Prints the usual table, keeps the rates of all repetitions, and compares them with sgemm's.
/// By the clock is what a user waits for. By CPU time (of all threads) also holds while other
/// programs take part of the machine.
class ShareReporter final : public benchmark::ConsoleReporter {
 public:
  ShareReporter() : ConsoleReporter(OO_Tabular) {}
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const auto work = run.counters.find(kWork);
      if (run.run_type != Run::RT_Iteration || work == run.counters.end()) continue;
      Rates& rates = rates_[run.run_name.function_name];
      const double flop = work->second.value * static_cast<double>(run.iterations);
      rates.wall.push_back(flop / run.real_accumulated_time);
      rates.cpu.push_back(flop / run.cpu_accumulated_time);
    }
    std::vector<Run> medians;
    std::copy_if(runs.begin(), runs.end(), std::back_inserter(medians),
                 [](const Run& run) { return run.aggregate_name == "median"; });
    if (!medians.empty()) ConsoleReporter::ReportRuns(medians);
  }
  void print_shares() const {
    const auto base = rates_.find("sgemm");
    if (base == rates_.end()) return;
    const double wall = median(base->second.wall), cpu = median(base->second.cpu);
    std::printf("\nsgemm %.0f GFLOP/s, %.0f per second of CPU time; medians, shares of it:\n", wall,
                cpu);
    std::printf("by clock  by CPU time  GFLOP/s\n");
    for (const auto& [name, rates] : rates_) {
      std::printf("%6.1f %%     %6.1f %%  %7.1f  %s\n", 100 * median(rates.wall) / wall,
                  100 * median(rates.cpu) / cpu, median(rates.wall), name.c_str());
    }
  }

 private:
  struct Rates {
    std::vector<double> wall, cpu;
  };
  std::map<std::string, Rates> rates_;
};

}  // namespace
}  // namespace nsa::bench

int main(int argc, char** argv) {
  // Defaults first, so that flags of the caller win.
  std::vector<std::string> flags{
      argv[0], "--benchmark_repetitions=7", "--benchmark_enable_random_interleaving=true",
      "--benchmark_display_aggregates_only=true", "--benchmark_filter=sgemm|2048/fp32"};
  flags.insert(flags.end(), argv + 1, argv + argc);
  std::vector<char*> pointers;
  for (std::string& flag : flags) pointers.push_back(flag.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) return 2;
  nsa::bench::register_all();
  nsa::bench::ShareReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print_shares();
  return 0;
}
