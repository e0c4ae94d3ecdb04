// Times of rows on a GPU at chosen shapes, cold L2, eager and as a CUDA graph: the figures of
// docs/results that are no sweep's.
//   bench_gpu [--samples N] [--kernels] [--both-passes] ROW SHAPE LENGTHS...
// ROW is stages/name as `nsatune variants` prints it (attention/batched); SHAPE 125m, paper or wide
// (paper's heads, K of 192 columns); a length is S, or 1@C for a decode step after C tokens.
// ROW@smooth: neighbours share .95 of their blocks. --kernels: and the kernels of one launch, by
// CUPTI, with a warm L2. --both-passes: forward and backward as one launch, of a row that has that
// (attention, layer). Device 0.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "device_launch.hpp"
#include "median_ms.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/directions.hpp"
#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/stream.hpp"
#include "nsa/probes/graph.hpp"
#include "nsa/probes/launch_trace.hpp"
#include "nsa/probes/probes.hpp"

using namespace nsa;

namespace {

std::int64_t number_in(const std::string& text, std::int64_t least) {
  constexpr std::int64_t kMost = 1 << 30;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > kMost)
    throw InputError("'" + text + "' is not a number from " + std::to_string(least) + " to " +
                     std::to_string(kMost));
  return number;
}

Problem problem_for(const std::string& shape, const std::string& length, bool smooth) {
  Problem p;
  p.dtype = Dtype::bf16;
  const bool wide = shape == "wide", paper = wide || shape == "paper";
  if (!paper && shape != "125m") throw InputError("a shape is 125m, paper or wide, not " + shape);
  p.q_heads = paper ? 64 : 12;
  p.kv_heads = paper ? 4 : 2;
  p.head_dim_v = paper ? 128 : 64;
  p.head_dim_k = wide ? 192 : p.head_dim_v;
  p.model = {paper ? 2560 : 768, 1, 256};
  const std::size_t at = length.find('@');
  p.seq_lens = {number_in(length.substr(0, at), 1)};
  p.context_lens = {at == std::string::npos ? 0 : number_in(length.substr(at + 1), 0)};
  p.phase = p.context_lens[0] == 0 ? Phase::prefill
            : p.seq_lens[0] == 1   ? Phase::decode
                                   : Phase::chunked_prefill;
  if (smooth) {
    p.selection.pattern = SelectionPattern::smooth;
    p.selection.overlap = .95;
  }
  return p;
}

/// One row on one problem, with all that it needs on the device.
class Bench {
 public:
  Bench(const Variant& row, const Problem& problem, CUstream_st* stream)
      : stream_(stream),
        launch_(row, problem, place(make_inputs(row.stages, problem, 7)),
                place(make_outputs(row.stages, problem)), stream) {}
  void launch() { launch_.launch(); }
  void warm_up() {
    for (int i = 0; i < 2; ++i) {
      launch();
      device::synchronize(stream_);
    }
  }

 private:
  std::vector<TensorView> place(const std::vector<HostTensor>& tensors) {
    std::vector<TensorView> views;
    for (const HostTensor& tensor : tensors) {
      buffers_.emplace_back(tensor.bytes.size());
      device::copy_to_device(buffers_.back().data(), tensor.bytes.data(), tensor.bytes.size(),
                             stream_);
      device::synchronize(stream_);
      views.push_back(tensor.view());
      views.back().data = buffers_.back().data();
    }
    return views;
  }

  CUstream_st* stream_;
  std::vector<device::Buffer> buffers_;
  test::DeviceLaunch launch_;
};

const Variant& find_row(const std::string& name, Direction direction) {
  for (const Variant& row : catalog()) {
    if (row.backend == Backend::cuda && row.direction == direction && row.launch &&
        to_string(ids_of(row).front()) == name)
      return row;
  }
  for (const Variant& row : catalog()) {  // whatever its points
    std::string stages;
    for (const Stage stage : row.stages)
      stages += (stages.empty() ? "" : "+") + std::string(to_string(stage));
    if (row.backend == Backend::cuda && row.direction == direction && row.launch &&
        stages + "/" + std::string(row.name) == name)
      return row;
  }
  throw InputError("no CUDA row " + name + " in this build");
}

/// What the words of the command line ask for.
struct Case {
  const Variant& row;
  Problem problem;
  Case(const std::string& name, const std::string& shape, const std::string& length,
       Direction direction)
      : row(find_row(name.substr(0, name.find('@')), direction)),
        problem(in_direction(problem_for(shape, length, name.find('@') != std::string::npos),
                             direction)) {}
};

struct Options {
  int samples = 17;
  bool kernels = false;
  Direction direction = Direction::forward;
};

void measure(const std::string& name, const std::string& shape, const std::string& length,
             const Options& options, const Device& device, CUstream_st* stream) {
  const auto& [row, problem] = Case(name, shape, length, options.direction);
  const Support support = supports(row, problem, device);
  if (!support.supported) {
    std::printf("%-40s %-5s %10s  %s\n", name.c_str(), shape.c_str(), length.c_str(),
                support.reason().c_str());
    return;
  }
  Bench bench(row, problem, stream);
  bench.warm_up();
  const auto timer = probes::make_timer(device, Timer::events, stream);
  const auto launch = [](void* b) { static_cast<Bench*>(b)->launch(); };
  const double eager = median_ms(*timer, options.samples, launch, &bench);
  std::string graph = "-";
  try {
    const auto replay = probes::capture_graph(device, stream, launch, &bench);
    const auto again = [](void* r) { static_cast<probes::GraphReplay*>(r)->launch(); };
    graph = std::to_string(median_ms(*timer, options.samples, again, replay.get()));
  } catch (const probes::NotCapturable& e) {
    graph = e.what();
  }
  std::printf("%-40s %-5s %10s  eager %.4f ms  graph %s ms\n", name.c_str(), shape.c_str(),
              length.c_str(), eager, graph.c_str());
  std::fflush(stdout);
}

/// After all times were taken: CUPTI stays in the process.
void show_kernels(const std::string& name, const std::string& shape, const std::string& length,
                  Direction direction, const Device& device, CUstream_st* stream) {
  const auto& [row, problem] = Case(name, shape, length, direction);
  if (!supports(row, problem, device).supported) return;
  Bench bench(row, problem, stream);
  bench.warm_up();
  const auto launch = [](void* b) { static_cast<Bench*>(b)->launch(); };
  const LaunchTrace trace = probes::trace_launch(device, stream, 1, launch, &bench);
  std::printf("%s %s %s, warm:\n", name.c_str(), shape.c_str(), length.c_str());
  for (const TracedKernel& kernel : trace.kernels)
    std::printf("    %9.4f ms  %lld x  %s\n", static_cast<double>(kernel.total_ns) * 1e-6,
                static_cast<long long>(kernel.count), kernel.name.substr(0, 100).c_str());
}

constexpr auto kUsage =
    "usage: bench_gpu [--samples N] [--kernels] [--both-passes] ROW SHAPE LENGTHS...";

int run(std::vector<std::string> arguments) {
  Options options;
  while (!arguments.empty() && arguments[0].starts_with("--")) {
    const bool samples = arguments[0] == "--samples" && arguments.size() > 1;
    if (samples) {
      options.samples = static_cast<int>(number_in(arguments[1], 1));
    } else if (arguments[0] == "--kernels") {
      options.kernels = true;
    } else if (arguments[0] == "--both-passes") {
      options.direction = kForwardBackward;
    } else {
      throw InputError(kUsage);
    }
    arguments.erase(arguments.begin(), arguments.begin() + (samples ? 2 : 1));
  }
  if (arguments.size() < 3) throw InputError(kUsage);
  const Device device = probes::require_device("cuda:0");
  device::select(0);
  const device::Stream stream;
  for (std::size_t i = 2; i < arguments.size(); ++i)
    measure(arguments[0], arguments[1], arguments[i], options, device, stream.get());
  if (options.kernels) {
    for (std::size_t i = 2; i < arguments.size(); ++i)
      show_kernels(arguments[0], arguments[1], arguments[i], options.direction, device,
                   stream.get());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_gpu: %s\n", e.what());
    return 2;
  }
}
