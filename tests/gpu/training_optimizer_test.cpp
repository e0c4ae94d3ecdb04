// Clipping and AdamW on a device against the same on the CPU.
#include <bit>
#include <cmath>
#include <limits>

#include "training/masters.hpp"
#include "training_support.hpp"

using namespace nsa;
using namespace nsa::test;

TEST_CASE(
    "clipping and AdamW on a device are the CPU's, and a step that is not finite moves nothing",
    "[gpu][training]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  constexpr std::int64_t kCount = 5'000'003;  // more than a round of all blocks; no multiple of 4
  for (const Dtype dtype : kDeviceTypes) {
    const bool masters = dtype == Dtype::bf16;
    StepScalars first;
    first.inputs = {.rate = 0.01, .correction1 = 0.19, .correction2 = 0.001999, .step = 41};
    std::vector<HostTensor> host;
    host.push_back(random_tensor(dtype, {kCount}, 1));
    for (const std::uint64_t seed : {2, 3, 4, 1})
      host.push_back(random_tensor(Dtype::fp32, {kCount}, seed));
    for (std::int64_t i = 0; i < kCount; ++i) {  // squares
      float& v = host[3].view().as<float>()[i];
      v *= v;
    }
    const auto there = upload(host, stream.get());
    const DeviceScalars scalars(first, stream.get());
    const auto run = [&](const TrainingOps& ops, const std::vector<TensorView>& t, StepScalars* s,
                         Allocator& memory, CUstream_st* on) {
      Workspace workspace(memory);
      Context context;
      context.workspace = &workspace;
      context.stream = on;
      ops.clip(context, t[1], 2.0, s);
      const training::AdamW options{.weight_decay = 0.1};
      ops.adamw(context, {t[0], t[1], t[2], t[3], masters ? t[4] : TensorView{}}, options, s);
      if (on) device::synchronize(on);
    };
    run(training::cuda_training_ops(), views(there), scalars.get(), nan_filled_memory(),
        stream.get());
    run(training::cpu_training_ops(), views(host), &first, host_allocator(), nullptr);
    const StepScalars got = scalars.read();
    INFO(to_string(dtype));
    CHECK(std::abs(got.grad_norm - first.grad_norm) < 1e-6 * first.grad_norm);
    CHECK(std::abs(got.clip - first.clip) < 1e-6 * first.clip);
    CHECK(got.bad_step == 0);
    for (std::size_t i = 0; i < host.size(); ++i)
      CHECK(relative_l2(there[i].download(stream.get()), host[i]) <
            2 * tolerance(host[i].shape.dtype));

    const auto before = there[0].download(stream.get());
    const float infinite = std::numeric_limits<float>::infinity();
    device::copy_to_device(there[1].view().as<float>() + kCount - 1, &infinite, 4, stream.get());
    run(training::cuda_training_ops(), views(there), scalars.get(), nan_filled_memory(),
        stream.get());
    CHECK(scalars.read().bad_step == 42);
    CHECK(there[0].download(stream.get()).bytes == before.bytes);
  }
}

TEST_CASE("AdamW on a device moves masters in halves as it moves fp32 ones, bit for bit",
          "[gpu][training]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  constexpr std::int64_t kCount = 300'003;  // no multiple of 4
  std::vector<HostTensor> host;
  for (const std::uint64_t seed : {1, 2, 3, 4})  // gradients, moments, masters
    host.push_back(random_tensor(Dtype::fp32, {kCount}, seed));
  for (std::int64_t i = 0; i < kCount; ++i) {
    float& v = host[2].view().as<float>()[i];
    v *= v;
  }
  host.push_back(empty_tensor(Dtype::bf16, {kCount}));  // weights
  std::vector<HostTensor> split = host;
  split.push_back(empty_tensor(Dtype::bf16, {kCount}));  // 16 bits each: the low halves
  training::split_masters(host[3].view().as<float>(), kCount, split[4].view().as<std::uint16_t>(),
                          split[5].view().as<std::int16_t>());
  StepScalars first;
  first.inputs = {.rate = 0.01, .correction1 = 0.19, .correction2 = 0.001999, .step = 41};
  const DeviceScalars scalars(first, stream.get());
  const training::AdamW options{.weight_decay = 0.1};
  const auto whole = upload(host, stream.get()), halves = upload(split, stream.get());
  const auto w = views(whole), h = views(halves);
  Workspace workspace(nan_filled_memory());
  Context context;
  context.workspace = &workspace;
  context.stream = stream.get();
  const TrainingOps& ops = training::cuda_training_ops();
  ops.adamw(context, {w[4], w[0], w[1], w[2], w[3]}, options, scalars.get());
  ops.adamw(context, {h[4], h[0], h[1], h[2], {}, h[5].as<std::int16_t>()}, options, scalars.get());
  const HostTensor weights = halves[4].download(stream.get()),
                   low = halves[5].download(stream.get());
  HostTensor joined = empty_tensor(Dtype::fp32, {kCount});
  training::join_masters(weights.view().as<std::uint16_t>(), low.view().as<std::int16_t>(), kCount,
                         joined.view().as<float>());
  // Counted: Catch would print each of a million bytes.
  const auto differing = [](const HostTensor& a, const HostTensor& b) {
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < kCount; ++i)
      count += std::bit_cast<std::uint32_t>(a.view().as<float>()[i]) !=
               std::bit_cast<std::uint32_t>(b.view().as<float>()[i]);
    return count;
  };
  CHECK(differing(joined, whole[3].download(stream.get())) == 0);
  CHECK(differing(joined, host[3]) > kCount / 2);
  for (const std::size_t moment : {1u, 2u})
    CHECK(differing(halves[moment].download(stream.get()), whole[moment].download(stream.get())) ==
          0);
}
