// What a training step does between its stages: every operation on a device against the same one on
// the CPU.
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>

#include "cpu/convert.hpp"
#include "gpu.hpp"
#include "nsa/schemas/generator.hpp"
#include "training/masters.hpp"
#include "training/ops.hpp"

using namespace nsa;
using namespace nsa::test;
using training::StepScalars;
using training::TrainingOps;

namespace {

constexpr std::array kDeviceTypes{Dtype::fp32, Dtype::bf16, Dtype::fp16};

HostTensor empty_tensor(Dtype dtype, std::initializer_list<std::int64_t> shape) {
  HostTensor tensor{"x", {dtype, static_cast<int>(shape.size()), {}}, {}};
  std::copy(shape.begin(), shape.end(), tensor.shape.shape.begin());
  tensor.bytes.resize(tensor.view().bytes(), std::byte{0xff});  // NaN, or the token -1
  return tensor;
}

/// Values between -2 and 2 from a seed, rounded.
HostTensor random_tensor(Dtype dtype, std::initializer_list<std::int64_t> shape,
                         std::uint64_t seed) {
  HostTensor tensor = empty_tensor(dtype, shape);
  std::vector<double> values(static_cast<std::size_t>(tensor.view().elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = generate(i, seed, 2);
  store_row(tensor.view(), 0, tensor.view().elements(), values.data());
  return tensor;
}

/// Tokens below `vocab`, and two that are none.
HostTensor some_ids(std::int64_t rows, std::int64_t vocab) {
  HostTensor tensor = empty_tensor(Dtype::int32, {rows});
  auto* ids = tensor.view().as<std::int32_t>();
  for (std::int64_t i = 2; i < rows; ++i) {
    const std::uint32_t noise = fmix32(static_cast<std::uint32_t>(i));
    ids[i] = static_cast<std::int32_t>(noise % static_cast<std::uint32_t>(vocab));
  }
  ids[1] = static_cast<std::int32_t>(vocab);
  return tensor;
}

std::vector<double> values_of(const HostTensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.view().elements()));
  load_row(tensor.view(), 0, tensor.view().elements(), values.data());
  return values;
}

double relative_l2(const HostTensor& got, const HostTensor& want) {
  const std::vector<double> a = values_of(got), b = values_of(want);
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

/// One operation over tensors that it reads, or writes: those at `outputs`.
struct Operation {
  std::string name;
  std::vector<HostTensor> tensors;
  std::vector<std::size_t> outputs;
  std::function<void(const TrainingOps&, const Context&, std::span<const TensorView>)> run;
};

std::vector<HostTensor> on_cpu(const Operation& operation) {
  std::vector<HostTensor> tensors = operation.tensors;
  Workspace workspace;
  Context context;
  context.workspace = &workspace;
  const auto all = views(tensors);
  operation.run(training::cpu_training_ops(), context, all);
  return tensors;
}

std::vector<HostTensor> on_device(const Operation& operation, CUstream_st* stream) {
  const auto tensors = upload(operation.tensors, stream);
  Workspace workspace(nan_filled_memory());
  Context context;
  context.workspace = &workspace;
  context.stream = stream;
  const auto all = views(tensors);
  operation.run(training::cuda_training_ops(), context, all);
  std::vector<HostTensor> results;
  for (const DeviceTensor& tensor : tensors) results.push_back(tensor.download(stream));
  return results;
}

/// What is rounded once to the tensor's type, from sums in fp32 in another order.
double tolerance(Dtype dtype) {
  return dtype == Dtype::fp32 ? 1e-5 : dtype == Dtype::bf16 ? 6e-3 : 1e-3;
}

/// `coarse`: of gradients that are sums of rounded terms, and of fp32 themselves.
void check(const Operation& operation, Dtype dtype, CUstream_st* stream, bool coarse = false) {
  INFO(operation.name << " " << to_string(dtype));
  const auto got = on_device(operation, stream), again = on_device(operation, stream);
  const auto want = on_cpu(operation);
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("tensor " << i);
    CHECK(got[i].bytes == again[i].bytes);
    if (std::ranges::find(operation.outputs, i) == operation.outputs.end()) {
      CHECK(got[i].bytes == operation.tensors[i].bytes);
      continue;
    }
    const Dtype rounded = coarse ? dtype : got[i].shape.dtype;
    CHECK(relative_l2(got[i], want[i]) < tolerance(rounded));
  }
}

/// A gradient that is added to, or one that is overwritten and was NaN before.
HostTensor gradient(Dtype dtype, std::initializer_list<std::int64_t> shape, bool add) {
  return add ? random_tensor(dtype, shape, 77) : empty_tensor(dtype, shape);
}

void check_linear(Dtype dtype, std::int64_t in, std::int64_t out, bool add, CUstream_st* stream) {
  constexpr std::int64_t kRows = 150;
  const HostTensor x = random_tensor(dtype, {kRows, in}, 1), w = random_tensor(dtype, {out, in}, 2),
                   d_y = random_tensor(dtype, {kRows, out}, 3);
  check({"linear",
         {x, w, empty_tensor(dtype, {kRows, out})},
         {2},
         [](const TrainingOps& ops, const Context& c, std::span<const TensorView> t) {
           ops.linear(c, t[0], t[1], t[2]);
         }},
        dtype, stream);
  for (const auto& [to_x, to_w] :
       {std::pair(true, true), std::pair(true, false), std::pair(false, true)}) {
    std::vector<std::size_t> outputs;
    if (to_x) outputs.push_back(3);
    if (to_w) outputs.push_back(4);
    check({"linear_backward",
           {x, w, d_y, gradient(dtype, {kRows, in}, add), gradient(Dtype::fp32, {out, in}, add)},
           outputs,
           [=](const TrainingOps& ops, const Context& c, std::span<const TensorView> t) {
             ops.linear_backward(c, t[0], t[1], t[2], {to_x ? t[3] : TensorView{}, add},
                                 {to_w ? t[4] : TensorView{}, add});
           }},
          dtype, stream);
  }
}

void check_norms(Dtype dtype, std::int64_t dim, bool add, CUstream_st* stream) {
  constexpr std::int64_t kRows = 300;  // three sums of rows, the last not full
  const HostTensor x = random_tensor(dtype, {kRows, dim}, 1),
                   delta = random_tensor(dtype, {kRows, dim}, 2),
                   weight = random_tensor(dtype, {dim}, 3),
                   empty = empty_tensor(dtype, {kRows, dim});
  check({"rms_norm",
         {x, weight, empty},
         {2},
         [](const TrainingOps& ops, const Context& c, std::span<const TensorView> t) {
           ops.rms_norm(c, t[0], t[1], t[2]);
         }},
        dtype, stream);
  check({"add_norm",
         {x, delta, weight, empty, empty},
         {3, 4},
         [](const TrainingOps& ops, const Context& c, std::span<const TensorView> t) {
           ops.add_norm(c, t[0], t[1], t[2], t[3], t[4]);
         }},
        dtype, stream);
  check({"add_norm without a norm, in place",
         {x, delta},
         {0},
         [](const TrainingOps& ops, const Context& c, std::span<const TensorView> t) {
           ops.add_norm(c, t[0], t[1], {}, t[0], {});
         }},
        dtype, stream);
  check({"rms_norm_backward",
         {x, weight, delta, gradient(dtype, {kRows, dim}, add), gradient(Dtype::fp32, {dim}, add)},
         {3, 4},
         [=](const TrainingOps& ops, const Context& c, std::span<const TensorView> t) {
           ops.rms_norm_backward(c, t[0], t[1], t[2], {t[3], add}, {t[4], add});
         }},
        dtype, stream);
}

void check_elements(Dtype dtype, std::int64_t columns, bool add, CUstream_st* stream) {
  constexpr std::int64_t kRows = 600, kVocab = 37;  // more rows than a block looks at together
  HostTensor h = random_tensor(dtype, {kRows, columns}, 1);
  const std::array<double, 4> steep{-90, 90, -20, 0};  // exp(90) is more than fp32 holds
  store_row(h.view(), 0, 4, steep.data());
  const HostTensor d = random_tensor(dtype, {kRows, columns}, 2);
  check({"silu",
         {h, empty_tensor(dtype, {kRows, columns})},
         {1},
         [](const TrainingOps& ops, const Context& c, std::span<const TensorView> t) {
           ops.silu(c, t[0], t[1]);
         }},
        dtype, stream);
  check({"silu_backward",
         {h, empty_tensor(dtype, {kRows, columns}), d},
         {1, 2},
         [](const TrainingOps& ops, const Context& c, std::span<const TensorView> t) {
           ops.silu_backward(c, t[0], t[1], t[2]);
         }},
        dtype, stream);
  check({"embed_backward",
         {some_ids(kRows, kVocab), d, gradient(Dtype::fp32, {kVocab, columns}, add)},
         {2},
         [=](const TrainingOps& ops, const Context& c, std::span<const TensorView> t) {
           ops.embed_backward(c, t[0], t[1], {t[2], add});
         }},
        dtype, stream);
}

/// A head over so many tokens; logits of 130 rows of 2^17 do not exist at once.
void check_head(Dtype dtype, std::int64_t rows, std::int64_t vocab, bool add, bool to_x,
                CUstream_st* stream) {
  constexpr std::int64_t kDim = 24;
  HostTensor scalars = empty_tensor(Dtype::fp64, {sizeof(StepScalars) / 8});
  StepScalars before;
  before.loss = 1.5;  // what is there is added to
  std::memcpy(scalars.bytes.data(), &before, sizeof before);
  check({"head_loss",
         {random_tensor(dtype, {rows, kDim}, 1), random_tensor(dtype, {vocab, kDim}, 2),
          some_ids(rows, vocab), gradient(dtype, {rows, kDim}, false),
          gradient(Dtype::fp32, {vocab, kDim}, add), scalars},
         to_x ? std::vector<std::size_t>{3, 4, 5} : std::vector<std::size_t>{4, 5},
         [=](const TrainingOps& ops, const Context& c, std::span<const TensorView> t) {
           ops.head_loss(c,
                         {.x = t[0],
                          .weight = t[1],
                          .targets = t[2],
                          .scale = 0.25,
                          .d_x = {to_x ? t[3] : TensorView{}},
                          .d_weight = {t[4], add}},
                         t[5].as<StepScalars>());
         }},
        dtype, stream, true);
}

/// StepScalars on the device, for one scope.
class DeviceScalars {
 public:
  DeviceScalars(const StepScalars& scalars, CUstream_st* stream)
      : buffer_(sizeof scalars), stream_(stream) {
    device::copy_to_device(buffer_.data(), &scalars, sizeof scalars, stream);
  }
  StepScalars* get() const { return static_cast<StepScalars*>(buffer_.data()); }
  StepScalars read() const {
    StepScalars scalars;
    device::copy_to_host(&scalars, buffer_.data(), sizeof scalars, stream_);
    device::synchronize(stream_);
    return scalars;
  }

 private:
  device::Buffer buffer_;
  CUstream_st* stream_;
};

}  // namespace

TEST_CASE(
    "the operations of a training step are the CPU's, on every type, with the same bits twice",
    "[gpu][training]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  for (const Dtype dtype : kDeviceTypes) {
    for (const bool add : {false, true}) {
      check_linear(dtype, 264, 136, add, stream.get());
      check_linear(dtype, 77, 51, add, stream.get());
      for (const std::int64_t dim : {264, 77}) {  // vectors of 16 bytes, and none
        check_norms(dtype, dim, add, stream.get());
        check_elements(dtype, dim, add, stream.get());
      }
      check_head(dtype, 150, 37, add, true, stream.get());
      check_head(dtype, 150, 256, add, false, stream.get());
    }
  }
}

TEST_CASE("a head over many tokens is computed in parts on a device too", "[gpu][training]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  constexpr std::int64_t kVocab = 1 << 17;
  REQUIRE(training::head_rows_at_once(130, kVocab) < 130);
  check_head(Dtype::fp32, 130, kVocab, false, true, stream.get());
  check_head(Dtype::bf16, 130, kVocab, true, true, stream.get());
}

TEST_CASE("a NaN in the head's input makes the loss NaN on a device, and large logits do not",
          "[gpu][training]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  for (const bool bad : {false, true}) {
    HostTensor x = random_tensor(Dtype::fp32, {5, 4}, 1);
    for (std::int64_t i = 0; i < 20; ++i) x.view().as<float>()[i] *= 1e4f;
    if (bad) x.view().as<float>()[9] = std::nanf("");
    const DeviceTensor gx(x, stream.get()), w(random_tensor(Dtype::fp32, {3, 4}, 2), stream.get()),
        targets(some_ids(5, 3), stream.get()), d_x(x, stream.get()),
        d_w(empty_tensor(Dtype::fp32, {3, 4}), stream.get());
    const DeviceScalars scalars(StepScalars{}, stream.get());
    Workspace workspace(nan_filled_memory());
    Context context;
    context.workspace = &workspace;
    context.stream = stream.get();
    training::cuda_training_ops().head_loss(context,
                                            {.x = gx.view(),
                                             .weight = w.view(),
                                             .targets = targets.view(),
                                             .scale = 1,
                                             .d_x = {d_x.view()},
                                             .d_weight = {d_w.view()}},
                                            scalars.get());
    CHECK(std::isfinite(scalars.read().loss) != bad);
  }
}

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
