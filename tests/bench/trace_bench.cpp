// How fast traces are read and written, in bytes of JSON; on an idle core.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "nsa/trace/read.hpp"
#include "nsa/trace/summary.hpp"
#include "nsa/trace/write.hpp"

namespace {

using namespace nsa::trace;

/// As PyTorch writes a launch: an operator, the call, the kernel.
std::string kineto(int launches) {
  std::string text = "{\"schemaVersion\": 1, \"traceEvents\": [\n";
  const auto event = [&](const char* category, const std::string& name, int at, int pid,
                         const std::string& arguments) {
    if (text.back() == '}') text += ",\n";
    text += std::string("{\"ph\": \"X\", \"cat\": \"") + category + "\", \"name\": \"" + name +
            "\", \"pid\": " + std::to_string(pid) + ", \"tid\": 7, \"ts\": " + std::to_string(at) +
            ".125, \"dur\": 4.250, \"args\": {" + arguments + "}}";
  };
  for (int i = 0; i < launches; ++i) {
    const std::string id = std::to_string(i + 1);
    event("cpu_op", "aten::addmm", i * 12, 77,
          "\"External id\": " + id + ", \"Input Dims\": [[1, 2048, 768], [768, 768], []]");
    event("cuda_runtime", "cudaLaunchKernel", i * 12 + 1, 77,
          "\"External id\": " + id + ", \"cbid\": 211, \"correlation\": " + id);
    event("kernel",
          "void at::native::vectorized_elementwise_kernel<" + std::to_string(i % 97) +
              ", at::native::CUDAFunctor_add<c10::BFloat16>>(int)",
          i * 12 + 6, 0,
          "\"External id\": " + id + ", \"device\": 0, \"context\": 1, \"stream\": 7, " +
              "\"correlation\": " + id + ", \"registers per thread\": 32, \"shared memory\": 0, " +
              "\"grid\": [1536, 1, 1], \"block\": [128, 1, 1]");
  }
  return text + "\n]}";
}

void read_json(benchmark::State& state) {
  const std::string text = kineto(100'000);
  for (auto _ : state) benchmark::DoNotOptimize(read_json_trace(text, "bench").ops.size());
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_json)->Unit(benchmark::kMillisecond);

void summary(benchmark::State& state) {
  const Trace trace = read_json_trace(kineto(100'000), "bench");
  for (auto _ : state) benchmark::DoNotOptimize(summarize(trace).events);
}
BENCHMARK(summary)->Unit(benchmark::kMillisecond);

void write_json(benchmark::State& state) {
  const Trace trace = read_json_trace(kineto(100'000), "bench");
  const std::string path = "/dev/shm/nsatune_bench_" + std::to_string(getpid()) + ".json";
  for (auto _ : state) write_chrome_trace(trace, path);
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path));
  state.SetBytesProcessed(state.iterations() * size);
  std::filesystem::remove(path);
}
BENCHMARK(write_json)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
