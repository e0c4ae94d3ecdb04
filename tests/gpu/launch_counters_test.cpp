// Hardware counters against launches whose traffic and work are known.
#include "nsa/probes/launch_counters.hpp"

#include <algorithm>

#include "cuda/gemm/gemm.hpp"
#include "gpu.hpp"
#include "kernels.hpp"
#include "nsa/probes/activity.hpp"
#include "nsa/probes/graph.hpp"
#include "nsa/probes/launch_trace.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/schemas/error.hpp"

using namespace nsa;
using namespace nsa::test;
using probes::CounterSession;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// A device that shows its counters to us, and no other tool (a sanitizer, say) in this process;
/// else the reason is printed.
std::optional<Device> gpu_with_counters() {
  auto device = gpu_or_skip();
  if (!device) return device;
  if (const std::string holder = probes::activity_holder(); !holder.empty()) {
    WARN("skipped: " << holder << " holds CUPTI");
    return std::nullopt;
  }
  try {
    const CounterSession session(*device, nullptr);
    return device;
  } catch (const EnvironmentError& error) {
    WARN("skipped: " << error.what());
    return std::nullopt;
  }
}

/// A copy of `bytes` by a kernel, both ends in DRAM.
class Copy {
 public:
  Copy(std::size_t bytes, CUstream_st* stream) : from_(bytes), to_(bytes), stream_(stream) {
    device::fill(from_.data(), std::byte{1}, bytes, stream);
    device::fill(to_.data(), std::byte{2}, bytes, stream);
    device::synchronize(stream);
  }
  static void launch(void* copy) {
    const auto* c = static_cast<Copy*>(copy);
    launch_copy(c->to_.data(), c->from_.data(), c->to_.bytes(), c->stream_);
  }

 private:
  device::Buffer from_, to_;
  CUstream_st* stream_;
};

/// bf16 [size, size] x [size, size].
class Product {
 public:
  Product(std::int64_t size, CUstream_st* stream)
      : bytes_(static_cast<std::size_t>(size * size) * 2),
        x_(bytes_),
        w_(bytes_),
        y_(bytes_),
        views_{view(x_, size), view(w_, size), view(y_, size)},
        workspace_(device::allocator()),
        stream_(stream) {
    for (const device::Buffer* buffer : {&x_, &w_})  // 0x3f3f is .746 in bf16
      device::fill(buffer->data(), std::byte{0x3f}, bytes_, stream);
    launch(this);  // the workspace grows here
    device::synchronize(stream);
  }
  static void launch(void* product) {
    auto* p = static_cast<Product*>(product);
    p->workspace_.reset();
    cuda::gemm(p->views_[0], p->views_[1], p->views_[2], p->workspace_, p->stream_);
  }

 private:
  static TensorView view(const device::Buffer& buffer, std::int64_t size) {
    return make_view(buffer.data(), Dtype::bf16, {size, size});
  }

  std::size_t bytes_;
  device::Buffer x_, w_, y_;
  std::array<TensorView, 3> views_;
  Workspace workspace_;
  CUstream_st* stream_;
};

double best_ns(probes::LaunchTimer& timer, void (*launch)(void*), void* context) {
  double best = 1e18;
  for (int i = 0; i < 20; ++i)
    best = std::min(best, static_cast<double>(timer.time(launch, context).device_ns));
  return best;
}

void show(const char* what, const LaunchCounters& c) {
  WARN(what << ": " << c.chip << " DRAM " << c.dram_share.value_or(-1) << ", L2 "
            << c.l2_share.value_or(-1) << ", tensor pipes " << c.tensor_share.value_or(-1)
            << ", read " << c.dram_read_bytes.value_or(-1) << " B, written "
            << c.dram_write_bytes.value_or(-1) << " B, busy " << c.busy_ns.value_or(-1) << " ns, "
            << c.passes << " passes; " << c.note);
}

}  // namespace

TEST_CASE("a copy moves its bytes through DRAM, near DRAM's peak, and no tensor pipe works",
          "[gpu][counters]") {
  const auto device = gpu_with_counters();
  if (!device) return;
  const Stream stream;
  CounterSession session(*device, stream.get());
  for (const std::size_t bytes : {256 * kMiB, 512 * kMiB}) {
    Copy copy(bytes, stream.get());
    const LaunchCounters c = session.read(true, &Copy::launch, &copy);
    show("copy", c);
    REQUIRE((c.dram_share && c.tensor_share && c.dram_read_bytes && c.dram_write_bytes));
    CHECK(*c.dram_share > 0.6);
    CHECK(*c.dram_share < 1.05);
    CHECK(*c.tensor_share < 0.01);
    const auto moved = static_cast<double>(*c.dram_read_bytes + *c.dram_write_bytes);
    CHECK(moved == Approx(2.0 * static_cast<double>(bytes)).epsilon(0.25));
  }
}

TEST_CASE("what a cold launch reads comes from DRAM, what a warm one reads does not",
          "[gpu][counters]") {
  const auto device = gpu_with_counters();
  if (!device) return;
  const Stream stream;
  CounterSession session(*device, stream.get());
  Copy copy(4 * kMiB, stream.get());
  const LaunchCounters cold = session.read(true, &Copy::launch, &copy);
  const LaunchCounters warm = session.read(false, &Copy::launch, &copy);
  show("cold", cold);
  show("warm", warm);
  CHECK(cold.dram_read_bytes.value() == Approx(4.0 * kMiB).epsilon(0.25));
  CHECK(warm.dram_read_bytes.value() < cold.dram_read_bytes.value() / 2);
  // What the caches were filled with was never written, so the launch does not write it back.
  CHECK(cold.dram_write_bytes.value() < static_cast<std::int64_t>(5 * kMiB));
}

TEST_CASE("a bf16 product keeps the tensor pipes at work, eager and as a graph",
          "[gpu][counters]") {
  const auto device = gpu_with_counters();
  if (!device) return;
  if (!cuda::gemm_missing().empty()) {
    WARN("skipped: " << cuda::gemm_missing());
    return;
  }
  const Stream stream;
  Product product(4096, stream.get());
  CounterSession session(*device, stream.get());
  const LaunchCounters c = session.read(true, &Product::launch, &product);
  show("product", c);
  CHECK(c.tensor_share.value() > 0.3);
  CHECK(c.tensor_share.value() < 1.01);
  const auto graph = probes::capture_graph(*device, stream.get(), &Product::launch, &product);
  const LaunchCounters again = session.read(
      true, [](void* replay) { static_cast<probes::GraphReplay*>(replay)->launch(); }, graph.get());
  show("graph", again);
  CHECK(again.tensor_share.value() == Approx(c.tensor_share.value()).epsilon(0.2));
}

TEST_CASE(
    "times and traces behind a session are those before it, and counters behind a trace are "
    "the same",
    "[gpu][counters][cupti]") {
  const auto device = gpu_with_counters();
  if (!device) return;
  const Stream stream;
  Copy copy(256 * kMiB, stream.get());
  const auto timer = probes::make_timer(*device, Timer::events, stream.get());
  const double before_ns = best_ns(*timer, &Copy::launch, &copy);
  LaunchCounters first, second;
  {
    CounterSession session(*device, stream.get());
    first = session.read(true, &Copy::launch, &copy);
  }
  const double after_ns = best_ns(*timer, &Copy::launch, &copy);
  WARN("a copy took " << before_ns << " ns before and " << after_ns << " ns behind counting");
  CHECK(after_ns == Approx(before_ns).epsilon(0.1));
  const LaunchTrace trace = probes::trace_launch(*device, stream.get(), 3, &Copy::launch, &copy);
  REQUIRE(trace.kernels.size() == 1);
  CHECK(trace.kernels.front().count == 1);
  {
    CounterSession session(*device, stream.get());
    second = session.read(true, &Copy::launch, &copy);
  }
  show("before a trace", first);
  show("behind a trace", second);
  CHECK(static_cast<double>(second.dram_read_bytes.value()) ==
        Approx(static_cast<double>(first.dram_read_bytes.value())).epsilon(0.05));
  CHECK(second.busy_ns.value() == Approx(first.busy_ns.value()).epsilon(0.2));
}

TEST_CASE("a launch that throws leaves a device on which the next session counts",
          "[gpu][counters]") {
  const auto device = gpu_with_counters();
  if (!device) return;
  const Stream stream;
  {
    CounterSession session(*device, stream.get());
    int calls = 0;
    const auto second_throws = [](void* count) {
      if (++*static_cast<int*>(count) == 2) throw InputError("not now");
    };
    CHECK_THROWS_AS(session.read(false, second_throws, &calls), InputError);
  }
  Copy copy(64 * kMiB, stream.get());
  CounterSession session(*device, stream.get());
  CHECK(session.read(true, &Copy::launch, &copy).dram_read_bytes.value() ==
        Approx(64.0 * kMiB).epsilon(0.25));
}
