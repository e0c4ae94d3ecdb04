// Every CPU row of the one table against the oracle: shapes, dtypes, phases, ragged batches,
// points.
#include <algorithm>
#include <optional>
#include <vector>

#include "catch.hpp"
#include "launch_support.hpp"

namespace nsa::test {
namespace {

struct Shape {
  Phase phase;
  std::vector<std::int64_t> seq_lens, context_lens;
  std::int64_t q_heads, kv_heads, head_dim_k, head_dim_v;
  Geometry geometry;  // l, d, l', n, w
  SelectionPattern pattern = SelectionPattern::random;
};

/// Odd on purpose: lengths that no block divides, rows before the first compressed token, one head
/// per group and sixteen, Dk != Dv, no window, windows of one, l > l'.
const std::vector<Shape>& shapes() {
  using enum Phase;
  static const std::vector<Shape> all{
      {prefill, {1}, {0}, 2, 2, 4, 4, {4, 2, 8, 4, 6}},
      {prefill, {37}, {0}, 2, 2, 8, 4, {4, 2, 8, 4, 6}},
      {prefill, {101}, {0}, 6, 2, 16, 16, {8, 4, 8, 3, 0}, SelectionPattern::smooth},
      {prefill, {5, 1, 67}, {0, 0, 0}, 6, 1, 8, 8, {8, 8, 16, 3, 1}},
      {prefill, {130}, {0}, 4, 2, 12, 20, {16, 4, 8, 5, 33}},
      {prefill, {203}, {0}, 3, 1, 192, 128, {32, 16, 32, 4, 50}},
      {decode, {1, 1, 1, 1}, {63, 64, 0, 141}, 16, 1, 8, 8, {4, 2, 8, 4, 6}},
      {decode, {1}, {517}, 12, 2, 64, 64, {32, 16, 64, 4, 512}},
      {chunked_prefill, {7, 21}, {29, 64}, 6, 2, 8, 4, {4, 2, 8, 4, 19}, SelectionPattern::smooth},
  };
  return all;
}

Problem problem_of(const Shape& shape, Dtype dtype) {
  Problem p;
  p.phase = shape.phase;
  p.seq_lens = shape.seq_lens;
  p.context_lens = shape.context_lens;
  p.q_heads = shape.q_heads;
  p.kv_heads = shape.kv_heads;
  p.head_dim_k = shape.head_dim_k;
  p.head_dim_v = shape.head_dim_v;
  p.geometry = shape.geometry;
  p.dtype = dtype;
  p.selection.pattern = shape.pattern;
  p.model.model_dim = 24;
  return p;
}

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xFF};  // NaN in every storage type

/// Copy of a tensor whose heads and rows have gaps of NaN between them and guards after it.
struct Spread {
  std::vector<std::byte> bytes;
  TensorView view;

  Spread(const HostTensor& tensor, bool with_gaps) : view(tensor.view()) {
    const TensorView from = view;
    if (with_gaps && from.dtype != Dtype::int32 && from.rank >= 2) {
      const std::int64_t inner = from.shape[static_cast<std::size_t>(from.rank - 1)];
      view.stride[0] = (from.rank == 3 ? from.shape[1] : 1) * (inner + 3) + 5;
      if (from.rank == 3) view.stride[1] = inner + 3;
    }
    const std::size_t element = size_of(from.dtype);
    const std::int64_t extent = from.elements() == 0 ? 0 : from.shape[0] * view.stride[0];
    bytes.assign(static_cast<std::size_t>(extent) * element + kGuardBytes, kGuard);
    view.data = bytes.data();
    for_elements([&](std::int64_t i, std::int64_t offset) {
      std::copy_n(tensor.bytes.begin() + i * static_cast<std::int64_t>(element), element,
                  bytes.begin() + offset * static_cast<std::int64_t>(element));
    });
  }
  Spread(const Spread&) = delete;
  Spread(Spread&&) = default;

  /// f(index in row-major order, offset in elements)
  template <class F>
  void for_elements(F f) const {
    std::int64_t index = 0;
    std::array<std::int64_t, kMaxRank> shape{1, 1, 1, 1};
    std::copy_n(view.shape.begin(), view.rank, shape.begin());
    for (std::int64_t i = 0; i < shape[0]; ++i)
      for (std::int64_t j = 0; j < shape[1]; ++j)
        for (std::int64_t k = 0; k < shape[2]; ++k)
          for (std::int64_t l = 0; l < shape[3]; ++l) f(index++, view.at(i, j, k, l));
  }

  /// Bytes that are not part of the tensor and no longer hold the guard.
  std::int64_t overwritten() const {
    std::vector<bool> inside(bytes.size(), false);
    const std::size_t element = size_of(view.dtype);
    for_elements([&](std::int64_t, std::int64_t offset) {
      std::fill_n(inside.begin() + offset * static_cast<std::int64_t>(element), element, true);
    });
    std::int64_t count = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) count += !inside[i] && bytes[i] != kGuard;
    return count;
  }
};

std::vector<Spread> spread(const std::vector<HostTensor>& tensors, bool with_gaps) {
  std::vector<Spread> copies;
  for (const HostTensor& tensor : tensors) copies.emplace_back(tensor, with_gaps);
  return copies;
}

std::vector<TensorView> views_of(const std::vector<Spread>& tensors) {
  std::vector<TensorView> views;
  for (const Spread& tensor : tensors) views.push_back(tensor.view);
  return views;
}

/// One launch of one row at one point, checked in every respect.
void check_launch(const Variant& variant, const Problem& problem, const Point& point,
                  const SpanOracle& oracle, const std::vector<TensorView>& inputs, bool with_gaps) {
  const auto outputs = spread(make_outputs(variant.stages, problem), with_gaps);
  const auto out = views_of(outputs);
  Workspace workspace;
  HostLaunch{.row = variant, .problem = problem, .in = inputs, .out = out, .point = point}.run(
      workspace);
  const auto verdict = oracle.verify(out);
  INFO("worst row " << verdict.worst_row);
  CHECK(verdict.poison_left == 0);
  CHECK(verdict.non_finite == 0);
  CHECK(verdict.worst_row_error <= row_tolerance(variant.stages, problem.dtype));
  for (const Spread& output : outputs) CHECK(output.overwritten() == 0);
  const auto bytes = static_cast<std::int64_t>(workspace.peak_bytes());
  CHECK(bytes <= workspace_of(variant, problem));
}

/// Every CPU row of these stages on this problem; returns how many launches were checked.
int check_stages(std::span<const Stage> stages, const Problem& problem, bool with_gaps) {
  const auto inputs = spread(make_inputs(stages, problem, 7), with_gaps);
  const auto in = views_of(inputs);
  const SpanOracle oracle(stages, problem, in);
  std::optional<SpanOracle> dense_oracle;
  const auto dense = [&]() -> const SpanOracle& {
    if (!dense_oracle)
      dense_oracle.emplace(stages, problem, in, AttentionOptions{}, Role::baseline);
    return *dense_oracle;
  };
  Device cpu;
  int checked = 0;
  for (const Variant& variant : catalog()) {
    if (variant.backend != Backend::cpu || variant.direction != Direction::forward ||
        !variant.launch || !std::ranges::equal(variant.stages, stages)) {
      continue;
    }
    INFO(to_string(ids_of(variant).front())
         << " on " << describe(problem) << (with_gaps ? " strided" : ""));
    const Support support = supports(variant, problem, cpu);
    CHECK(support.supported == support.reason().empty());
    if (!support.supported) continue;
    for (const VariantId& id : ids_of(variant)) {
      INFO("point " << to_string(id));
      const bool baseline = variant.role == Role::baseline;
      check_launch(variant, problem, id.point, baseline ? dense() : oracle, in, with_gaps);
      ++checked;
    }
  }
  return checked;
}

int check_stage(Stage stage, const Problem& problem, bool with_gaps) {
  return check_stages(std::span(&stage, 1), problem, with_gaps);
}

/// The lists of several stages that some CPU row covers.
std::vector<std::span<const Stage>> stage_lists() {
  std::vector<std::span<const Stage>> lists;
  for (const Variant& variant : catalog()) {
    const bool known = std::ranges::any_of(
        lists, [&](auto stages) { return std::ranges::equal(stages, variant.stages); });
    if (variant.backend == Backend::cpu && variant.stages.size() > 1 && !known)
      lists.push_back(variant.stages);
  }
  return lists;
}

constexpr Stage kChecked[] = {
    Stage::project_rope,      Stage::compress,        Stage::score,         Stage::ranges,
    Stage::attend_compressed, Stage::attend_selected, Stage::attend_window, Stage::gate_combine,
    Stage::out_proj,          Stage::attention};

}  // namespace

TEST_CASE("every CPU row agrees with the oracle on every shape and storage type", "[kernels]") {
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  for (const Stage stage : kChecked) {
    int checked = 0;
    for (const Shape& shape : shapes()) {
      checked += check_stage(stage, problem_of(shape, dtype), false);
    }
    INFO(to_string(stage));
    CHECK(checked > 0);
  }
}

TEST_CASE("every CPU row of one stage follows the caller's strides", "[kernels]") {
  const Dtype dtype = GENERATE(Dtype::fp32, Dtype::bf16);
  for (const Stage stage : kChecked) {
    for (const std::size_t shape : {2u, 3u, 8u}) {
      CHECK(check_stage(stage, problem_of(shapes()[shape], dtype), true) > 0);
    }
  }
}

TEST_CASE("every CPU row over several stages agrees with the oracles of all of them", "[kernels]") {
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  const bool with_gaps = GENERATE(false, true);
  CHECK_FALSE(stage_lists().empty());
  for (const auto stages : stage_lists()) {
    for (const Shape& shape : shapes()) {
      CHECK(check_stages(stages, problem_of(shape, dtype), with_gaps) > 0);
    }
  }
}

TEST_CASE("every CPU row of a layer agrees with the oracle", "[kernels]") {
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  for (const std::size_t shape : {0u, 1u, 3u, 4u}) {
    CHECK(check_stage(Stage::layer, problem_of(shapes()[shape], dtype), false) > 0);
  }
}

}  // namespace nsa::test
