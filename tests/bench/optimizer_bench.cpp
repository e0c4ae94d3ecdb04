// Clipping and AdamW over all parameters of a model on a GPU, as a training step launches them,
// beside the time in which as many bytes can be copied. Device 0, cold L2.
//   bench_optimizer [PARAMETERS]
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "median_ms.hpp"
#include "nsa/kernels/device_inputs.hpp"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/stream.hpp"
#include "nsa/probes/graph.hpp"
#include "nsa/probes/probes.hpp"
#include "training/ops.hpp"

using namespace nsa;
using namespace nsa::training;

namespace {

constexpr std::int64_t kParameters = 78'295'332;  // of the 125M model
constexpr int kSamples = 31;
// Clipping reads the gradients. AdamW reads them once more, and reads and writes two moments in
// fp32, bf16 weights and the 16 bits of their masters that these do not hold.
constexpr std::int64_t kBytes = 4 + 4 + 2 * (4 + 4 + 2 + 2);

class Step {
 public:
  Step(std::int64_t count, CUstream_st* stream) {
    context_.workspace = &workspace_;
    context_.stream = stream;
    std::uint64_t seed = 1;
    for (TensorView* tensor : {&t_.gradients, &t_.moment1, &t_.moment2, &t_.weights}) {
      const Dtype dtype = tensor == &t_.weights ? Dtype::bf16 : Dtype::fp32;
      *tensor = place(dtype, count);
      device::generate(*tensor, ++seed, 1e-3, stream);
    }
    t_.low_halves = place(Dtype::bf16, count).as<std::int16_t>();
    device::fill(t_.low_halves, std::byte{0x11}, static_cast<std::size_t>(2 * count), stream);
    // Means of squares are positive.
    device::fill(t_.moment2.data, std::byte{0x22}, t_.moment2.bytes(), stream);
    StepScalars first;
    first.inputs = {.rate = 1e-4, .correction1 = 0.1, .correction2 = 0.001, .step = 1};
    device::copy_to_device(scalars_.data(), &first, sizeof first, stream);
    device::synchronize(stream);
  }
  void clip() { ops_.clip(context_, t_.gradients, 1.0, scalars()); }
  void both() {
    clip();
    ops_.adamw(context_, t_, AdamW{.weight_decay = 0.1}, scalars());
  }

 private:
  TensorView place(Dtype dtype, std::int64_t count) {
    TensorView view;
    view.dtype = dtype;
    view.rank = 1;
    view.shape = {count, 0, 0, 0};
    view.stride = {1, 0, 0, 0};
    buffers_.emplace_back(view.bytes());
    view.data = buffers_.back().data();
    return view;
  }
  StepScalars* scalars() { return static_cast<StepScalars*>(scalars_.data()); }

  const TrainingOps& ops_ = cuda_training_ops();
  Workspace workspace_{device::allocator()};
  Context context_;
  std::vector<device::Buffer> buffers_;
  device::Buffer scalars_{sizeof(StepScalars)};
  OptimizerTensors t_;
};

/// Half of the bytes from one place to another: as many are moved.
struct Copy {
  std::size_t bytes;
  CUstream_st* stream;
  device::Buffer from{bytes}, to{bytes};
  void run() { device::copy_on_device(to.data(), from.data(), bytes, stream); }
};

/// As a graph: the step is one.
template <class T, void (T::*kLaunch)()>
double graph_ms(T& object, const Device& device, probes::LaunchTimer& timer, CUstream_st* stream) {
  const auto launch = [](void* o) { (static_cast<T*>(o)->*kLaunch)(); };
  launch(&object);  // the workspace grows
  device::synchronize(stream);
  const auto graph = probes::capture_graph(device, stream, launch, &object);
  const auto replay = [](void* g) { static_cast<probes::GraphReplay*>(g)->launch(); };
  return median_ms(timer, kSamples, replay, graph.get());
}

int run(std::int64_t count) {
  const Device device = probes::require_device("cuda:0");
  device::select(0);
  const device::Stream stream;
  const auto timer = probes::make_timer(device, Timer::events, stream.get());
  Step step(count, stream.get());
  const double clip = graph_ms<Step, &Step::clip>(step, device, *timer, stream.get());
  const double both = graph_ms<Step, &Step::both>(step, device, *timer, stream.get());
  Copy copy{static_cast<std::size_t>(kBytes * count / 2), stream.get()};
  const double copied = graph_ms<Copy, &Copy::run>(copy, device, *timer, stream.get());
  std::printf(
      "%s, %lld parameters: clipping %.4f ms, with AdamW %.4f ms; %.3f GB moved, a copy that moves "
      "as many %.4f ms: %.3f times as long\n",
      device.name.c_str(), static_cast<long long>(count), clip, both,
      1e-9 * static_cast<double>(kBytes * count), copied, both / copied);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::int64_t count = kParameters;
    const std::string text = argc > 1 ? argv[1] : "";
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    const bool good = text.empty() || (error == std::errc() && *end == '\0' && count > 0);
    if (argc > 2 || !good) throw InputError("usage: bench_optimizer [PARAMETERS]");
    return run(count);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bench_optimizer: %s\n", e.what());
    return 2;
  }
}
