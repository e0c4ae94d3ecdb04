// What a training step does between its stages: every operation on a device against the same one on
// the CPU.
#include <cmath>
#include <cstring>
#include <functional>

#include "training_support.hpp"

using namespace nsa;
using namespace nsa::test;

namespace {

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
  return download(tensors, stream);
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

TEST_CASE("a norm of large gradients is finite on a device, as it is on a CPU", "[gpu][training]") {
  if (!gpu_or_skip()) return;
  const Stream stream;
  HostTensor gradients = empty_tensor(Dtype::fp32, {6, 1});  // a vector of four, and a rest
  for (std::int64_t i = 0; i < 6; ++i) gradients.view().as<float>()[i] = i % 4 == 1 ? 3e19f : 0;
  const DeviceTensor on_device(gradients, stream.get());
  TensorView flat = on_device.view();
  flat = make_view(flat.data, Dtype::fp32, {6});
  const DeviceScalars scalars(StepScalars{}, stream.get());
  Workspace workspace(nan_filled_memory());
  Context context;
  context.workspace = &workspace;
  context.stream = stream.get();
  training::cuda_training_ops().clip(context, flat, 1, scalars.get());
  const StepScalars after = scalars.read();
  CHECK(after.bad_step == 0);
  CHECK(after.grad_norm == Approx(std::sqrt(2.0) * 3e19));
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
