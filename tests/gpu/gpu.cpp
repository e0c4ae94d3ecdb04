#include "gpu.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "nsa/kernels/oracle.hpp"
#include "nsa/kernels/parallel.hpp"
#include "nsa/probes/probes.hpp"
#include "reference/reference.hpp"

namespace nsa::test {
namespace {

std::string list(const std::vector<std::int64_t>& values) {
  std::string text = "[";
  for (const std::int64_t value : values) {
    if (text.size() > 1) text += ',';
    text += std::to_string(value);
  }
  return text + "]";
}

/// Whether cuBLASLt writes to its workspace.
bool holds_product(const Variant& variant) {
  const Stage stage = variant.stages.front();
  return stage == Stage::project_rope || stage >= Stage::layer ||
         (variant.missing != nullptr && variant.library == Library::none);
}

}  // namespace

std::optional<Device> gpu_or_skip() {
  std::string reason = "this program was built without CUDA";
  if (device::built()) {
    for (Device& device : probes::devices()) {
      if (device.backend != Backend::cuda) continue;
      device::select(0);
      return std::move(device);
    }
    for (const Capability& library : probes::capabilities())
      if (library.library == "CUDA runtime") reason = library.reason;
  }
  WARN("skipped: no CUDA device: " << reason);
  return std::nullopt;
}

const Variant& cuda_row(std::span<const Stage> stages, std::string_view name) {
  const Variant* row = find_variant(stages, name, Backend::cuda);
  INFO(name);
  REQUIRE(row);
  return *row;
}
const Variant& cuda_row(Stage stage, std::string_view name) {
  return cuda_row(std::span(&stage, 1), name);
}

std::optional<Device> hopper_or_skip(const Variant& row, const Problem& problem) {
  auto device = gpu_or_skip();
  if (!device) return device;
  const Support support = supports(row, problem, *device);
  if (support.supported) return device;
  INFO(support.reason());
  REQUIRE(device->compute_capability.value_or(0) != 90);
  WARN("skipped: " << support.reason());
  return std::nullopt;
}

bool sanitized() {
  const char* asked = std::getenv("NSA_TEST_SANITIZED");
  return asked && std::string_view(asked) == "1";
}

Allocator& nan_filled_memory() {
  struct NanFilled final : Allocator {
    void* allocate(std::size_t bytes) override {
      void* const data = device::allocator().allocate(bytes);
      device::fill(data, std::byte{0xff}, bytes, nullptr);
      device::synchronize(nullptr);
      return data;
    }
    void deallocate(void* data, std::size_t bytes) noexcept override {
      device::allocator().deallocate(data, bytes);
    }
  };
  static NanFilled memory;
  return memory;
}

DeviceTensor::DeviceTensor(const HostTensor& host, CUstream_st* stream, std::int64_t row_gap,
                           std::int64_t offset)
    : view_(host.view()), name_(host.name), shape_(host.shape) {
  const std::size_t element = size_of(view_.dtype);
  const std::int64_t rows = view_.shape[0];
  const std::int64_t row = rows > 0 ? view_.elements() / rows : 0;
  buffer_ = device::Buffer(static_cast<std::size_t>(offset + rows * (row + row_gap)) * element);
  // What lies between the rows must not matter: it is made of NaN.
  device::fill(buffer_.data(), std::byte{0xff}, buffer_.bytes(), stream);
  auto* first =
      static_cast<std::byte*>(buffer_.data()) + static_cast<std::size_t>(offset) * element;
  const std::int64_t at_once = row_gap == 0 ? rows : 1;  // of the rows
  for (std::int64_t r = 0; r < rows; r += at_once) {
    device::copy_to_device(first + static_cast<std::size_t>(r * (row + row_gap)) * element,
                           host.bytes.data() + static_cast<std::size_t>(r * row) * element,
                           static_cast<std::size_t>(at_once * row) * element, stream);
  }
  device::synchronize(stream);
  view_.data = first;
  view_.stride[0] = row + row_gap;
}

HostTensor DeviceTensor::download(CUstream_st* stream) const {
  HostTensor host{name_, shape_, {}};
  const std::size_t element = size_of(view_.dtype);
  const std::int64_t rows = view_.shape[0];
  const std::int64_t row = rows > 0 ? view_.elements() / rows : 0;
  host.bytes.resize(static_cast<std::size_t>(rows * row) * element);
  const std::int64_t at_once = view_.stride[0] == row ? rows : 1;
  for (std::int64_t r = 0; r < rows; r += at_once) {
    device::copy_to_host(host.bytes.data() + static_cast<std::size_t>(r * row) * element,
                         static_cast<const std::byte*>(view_.data) +
                             static_cast<std::size_t>(r * view_.stride[0]) * element,
                         static_cast<std::size_t>(at_once * row) * element, stream);
  }
  device::synchronize(stream);
  return host;
}

std::vector<DeviceTensor> upload(const std::vector<HostTensor>& tensors, CUstream_st* stream,
                                 std::int64_t row_gap, std::int64_t offset) {
  std::vector<DeviceTensor> uploaded;
  for (const HostTensor& tensor : tensors) uploaded.emplace_back(tensor, stream, row_gap, offset);
  return uploaded;
}

std::vector<HostTensor> download(const std::vector<DeviceTensor>& tensors, CUstream_st* stream) {
  std::vector<HostTensor> all;
  for (const DeviceTensor& tensor : tensors) all.push_back(tensor.download(stream));
  return all;
}

std::vector<TensorView> views(const std::vector<DeviceTensor>& tensors) {
  std::vector<TensorView> all;
  for (const DeviceTensor& tensor : tensors) all.push_back(tensor.view());
  return all;
}

std::vector<TensorView> views(const std::vector<HostTensor>& tensors) {
  std::vector<TensorView> all;
  for (const HostTensor& tensor : tensors) all.push_back(tensor.view());
  return all;
}

Launchable::Launchable(const Variant& variant, const Problem& problem,
                       const std::vector<TensorView>& inputs,
                       const std::vector<TensorView>& outputs, CUstream_st* stream, Saved* saved,
                       Point point)
    : DeviceLaunch(variant, problem, inputs, outputs, stream, saved, std::move(point),
                   holds_product(variant) ? nan_filled_memory() : device::allocator()) {}

std::vector<HostTensor> produce(const Variant& variant, const Problem& problem,
                                const std::vector<HostTensor>& inputs, CUstream_st* stream,
                                Point point, std::int64_t row_gap, std::int64_t offset) {
  const auto in = upload(inputs, stream, row_gap, offset);
  const auto out = upload(make_outputs(variant.stages, problem), stream, row_gap, offset);
  Launchable(variant, problem, views(in), views(out), stream, nullptr, std::move(point)).launch();
  return download(out, stream);
}

void check_verdict(const Oracle::Verdict& verdict, double tolerance) {
  INFO("worst row " << verdict.worst_row);
  CHECK(verdict.worst_row_error <= tolerance);
  CHECK(verdict.poison_left == 0);
  CHECK(verdict.non_finite == 0);
}

void check_with_oracle(const Variant& variant, const Problem& problem,
                       const std::vector<HostTensor>& inputs,
                       const std::vector<HostTensor>& produced,
                       std::span<const std::int64_t> rows) {
  if (sanitized()) return;
  const auto input_views = views(inputs);
  const SpanOracle oracle(variant.stages, problem, input_views, {}, variant.role);
  check_verdict(oracle.verify(views(produced), rows), row_tolerance(variant, problem.dtype));
}

void check_launch(const Variant& variant, const Problem& problem,
                  const std::vector<HostTensor>& inputs, CUstream_st* stream, Point point,
                  std::int64_t row_gap, std::int64_t offset) {
  check_with_oracle(variant, problem, inputs,
                    produce(variant, problem, inputs, stream, std::move(point), row_gap, offset));
}

void check_same_bits(const std::vector<HostTensor>& one, const std::vector<HostTensor>& other) {
  REQUIRE(one.size() == other.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    INFO(one[i].name);
    CHECK(one[i].bytes == other[i].bytes);
  }
}

SavingRun produce_saving(const Variant& variant, const Problem& problem,
                         const std::vector<DeviceTensor>& inputs, CUstream_st* stream, Point point,
                         std::int64_t lse_gap) {
  const Stage stage = variant.stages.front();
  const auto out = upload(make_outputs(stage, problem), stream);
  HostTensor lse{"lse", {Dtype::fp32, 2, {problem.total_tokens(), problem.q_heads}}, {}};
  lse.fill(kPoison);
  const DeviceTensor on_device(lse, stream, lse_gap);
  Saved saved;
  (stage == Stage::attend_compressed ? saved.lse_cmp
   : stage == Stage::attend_selected ? saved.lse_sel
                                     : saved.lse_win) = on_device.view();
  Launchable(variant, problem, views(inputs), views(out), stream, &saved, std::move(point))
      .launch();
  return {out.front().download(stream), on_device.download(stream)};
}

std::vector<double> expected_lse(Stage stage, const Problem& p,
                                 const std::vector<HostTensor>& inputs) {
  std::vector<double> all(static_cast<std::size_t>(p.total_tokens() * p.q_heads));
  const std::size_t width = 2 * static_cast<std::size_t>(p.geometry.sel_count);
  for (const Sequence& s : sequences_of(p)) {
    const auto rows_of = [&](std::int64_t token, std::int64_t kv_head) {
      const std::int64_t position = s.first_position() + token - s.q_begin;
      if (stage == Stage::attend_window) return reference::window_rows(s, position, p.geometry);
      if (stage == Stage::attend_compressed)
        return reference::compressed_rows(s, position, p.geometry);
      const auto* ranges = inputs[4].view().as<const std::int32_t>();
      return reference::selected_rows(
          s, {ranges + static_cast<std::size_t>(token * p.kv_heads + kv_head) * width, width});
    };
    parallel_for(s.q_begin, s.q_begin + s.q_len, 1, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from * p.q_heads; i < to * p.q_heads; ++i) {
        const std::int64_t token = i / p.q_heads, head = i % p.q_heads;
        const std::int64_t kv_head = head / p.heads_per_group();
        reference::attend(reference::load_head(inputs[0].view(), token, head), inputs[1].view(),
                          inputs[2].view(), rows_of(token, kv_head), kv_head,
                          &all[static_cast<std::size_t>(i)]);
      }
    });
  }
  return all;
}

void check_lse(const HostTensor& lse, const std::vector<double>& want, double most) {
  const auto* got = lse.view().as<const float>();
  REQUIRE(lse.view().elements() == static_cast<std::int64_t>(want.size()));
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    wrong += std::isinf(want[i]) ? got[i] != want[i] : !(std::abs(got[i] - want[i]) <= most);
  CHECK(wrong == 0);
}

Problem small_problem(std::vector<std::int64_t> seq_lens, std::vector<std::int64_t> context_lens,
                      std::int64_t q_heads, std::int64_t kv_heads, std::int64_t dk, std::int64_t dv,
                      Dtype dtype) {
  Problem problem;
  problem.seq_lens = std::move(seq_lens);
  problem.context_lens = std::move(context_lens);
  problem.q_heads = q_heads;
  problem.kv_heads = kv_heads;
  problem.head_dim_k = dk;
  problem.head_dim_v = dv;
  problem.dtype = dtype;
  problem.geometry = {8, 4, 16, 5, 32};
  problem.model = {40, 2, 30};  // for the stages that see a model
  const bool cached = problem.max_context() > 0;
  problem.phase = !cached                      ? Phase::prefill
                  : problem.max_seq_len() == 1 ? Phase::decode
                                               : Phase::chunked_prefill;
  return problem;
}

void set_ranges(HostTensor& ranges, const Problem& p, std::int64_t row,
                const std::vector<std::int32_t>& pairs) {
  auto* data = ranges.view().as<std::int32_t>() + row * p.geometry.sel_count * 2;
  std::fill_n(data, p.geometry.sel_count * 2, 0);
  std::copy(pairs.begin(), pairs.end(), data);
}

std::vector<HostTensor> odd_selected_inputs(const Problem& p) {
  auto inputs = make_inputs(Stage::attend_selected, p, 11);
  HostTensor& ranges = inputs[4];
  const std::int64_t rows = p.total_tokens() * p.kv_heads;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto t = static_cast<std::int32_t>(row / p.kv_heads);
    switch (row % 5) {
      case 0:
        set_ranges(ranges, p, row, {});
        break;
      case 1:
        set_ranges(ranges, p, row, {16, 3});  // negative length
        break;
      case 2:
        set_ranges(ranges, p, row, {t / 2, t * 3 / 4 + 1, t * 5 / 8, t + 1});  // they overlap
        break;
      case 3:
        set_ranges(ranges, p, row, {t, t + 1});
        break;
      default:
        set_ranges(ranges, p, row, {0, 1, 0, 0, t / 3 + 1, t / 2 + 1});  // a hole in the list
    }
  }
  return inputs;
}

std::string describe(const Problem& p) {
  return "S=" + list(p.seq_lens) + " C=" + list(p.context_lens) +
         " H=" + std::to_string(p.q_heads) + "/" + std::to_string(p.kv_heads) +
         " D=" + std::to_string(p.head_dim_k) + "/" + std::to_string(p.head_dim_v) +
         " l'=" + std::to_string(p.geometry.sel_block) +
         " n=" + std::to_string(p.geometry.sel_count) + " " + std::string(to_string(p.dtype));
}

}  // namespace nsa::test
