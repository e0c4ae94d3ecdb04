// The operations of a training step on a CPU against the fp64 reference.
#include <bit>
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "cpu/convert.hpp"
#include "nsa/schemas/generator.hpp"
#include "reference/backward/backward.hpp"
#include "relative_l2.hpp"
#include "training/masters.hpp"
#include "training/ops.hpp"

namespace nsa::test {
namespace {

using reference::Row;
using training::Gradient;

/// A tensor of that dtype that owns its bytes; values from a seed, rounded.
struct Tensor {
  std::vector<std::byte> bytes;
  TensorView view;

  Tensor(Dtype dtype, std::initializer_list<std::int64_t> shape, std::uint64_t seed = 0) {
    view = make_view(nullptr, dtype, shape);
    bytes.resize(view.bytes());
    view.data = bytes.data();
    Row values(static_cast<std::size_t>(view.elements()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = seed ? generate(i, seed, 2) : 0;
    store_row(view, 0, view.elements(), values.data());
  }
  Row values() const { return reference::load(view, 0, view.elements()); }
  Row row(std::int64_t r) const { return reference::load_index(view, r); }
};

double tolerance(Dtype dtype) {
  return dtype == Dtype::fp64 ? 1e-13 : dtype == Dtype::fp32 ? 2e-6 : 1e-2;
}

/// What is expected where `add` adds to what was there.
Row on_top(const Row& old, Row expected, bool add) {
  for (std::size_t i = 0; add && i < expected.size(); ++i) expected[i] += old[i];
  return expected;
}

struct Run {
  Workspace workspace;
  Context context;
  const training::TrainingOps& ops = training::cpu_training_ops();
  Run() { context.workspace = &workspace; }
};

Dtype wide(Dtype dtype) { return dtype == Dtype::fp64 ? Dtype::fp64 : Dtype::fp32; }

const auto any_dtype = [] { return GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16); };

}  // namespace

TEST_CASE("a linear layer has the reference's gradients", "[training]") {
  const Dtype dtype = any_dtype();
  const bool add = GENERATE(false, true);
  constexpr std::int64_t kRows = 37, kIn = 13, kOut = 9;
  const Tensor x(dtype, {kRows, kIn}, 1), w(dtype, {kOut, kIn}, 2), d_y(dtype, {kRows, kOut}, 3);
  Tensor d_x(dtype, {kRows, kIn}, 4), d_w(wide(dtype), {kOut, kIn}, 5);
  const Row old_x = d_x.values(), old_w = d_w.values();
  Tensor expected_w(Dtype::fp64, {kOut, kIn});
  Row expected_x;
  for (std::int64_t r = 0; r < kRows; ++r) {
    Row one(kIn, 0.0);
    reference::linear_backward(w.view, 0, x.row(r), d_y.row(r), expected_w.view, one);
    expected_x.insert(expected_x.end(), one.begin(), one.end());
  }
  Run run;
  run.ops.linear_backward(run.context, x.view, w.view, d_y.view, {d_x.view, add}, {d_w.view, add});
  CHECK(relative_l2(d_x.values(), on_top(old_x, expected_x, add)) < tolerance(dtype));
  CHECK(relative_l2(d_w.values(), on_top(old_w, expected_w.values(), add)) < 2e-6);
}

TEST_CASE("a norm has the reference's gradients", "[training]") {
  const Dtype dtype = any_dtype();
  const bool add = GENERATE(false, true);
  constexpr std::int64_t kRows = 150, kDim = 21;  // three sums of rows, the last not full
  const Tensor x(dtype, {kRows, kDim}, 1), w(dtype, {kDim}, 2), d_y(dtype, {kRows, kDim}, 3);
  Tensor d_x(dtype, {kRows, kDim}, 4), d_w(wide(dtype), {kDim}, 5);
  const Row old_x = d_x.values(), old_w = d_w.values();
  Row expected_x, expected_w(kDim, 0.0);
  for (std::int64_t r = 0; r < kRows; ++r) {
    Row one(kDim, 0.0);
    reference::rms_norm_backward(x.row(r), w.values(), d_y.row(r), expected_w, one);
    expected_x.insert(expected_x.end(), one.begin(), one.end());
  }
  Run run;
  run.ops.rms_norm_backward(run.context, x.view, w.view, d_y.view, {d_x.view, add},
                            {d_w.view, add});
  CHECK(relative_l2(d_x.values(), on_top(old_x, expected_x, add)) < tolerance(dtype));
  CHECK(relative_l2(d_w.values(), on_top(old_w, expected_w, add)) < 5e-6);
}

TEST_CASE("SiLU and its slope are the reference's", "[training]") {
  const Dtype dtype = any_dtype();
  const Tensor h(dtype, {19, 8}, 1);
  Tensor d(dtype, {19, 8}, 2), y(dtype, {19, 8}), again(dtype, {19, 8});
  Row expected = d.values(), active = h.values();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] *= reference::silu_slope(active[i]);
    active[i] = reference::silu(active[i]);
  }
  Run run;
  run.ops.silu(run.context, h.view, y.view);
  run.ops.silu_backward(run.context, h.view, again.view, d.view);
  CHECK(relative_l2(y.values(), active) < tolerance(dtype));
  CHECK(again.bytes == y.bytes);
  CHECK(relative_l2(d.values(), expected) < tolerance(dtype));
}

TEST_CASE("a row of the embedding gets the gradients of all its tokens", "[training]") {
  const Dtype dtype = any_dtype();
  const bool add = GENERATE(false, true);
  constexpr std::int64_t kRows = 60, kVocab = 7, kDim = 5;
  const Tensor d_y(dtype, {kRows, kDim}, 1);
  Tensor d_table(wide(dtype), {kVocab, kDim}, 2);
  std::vector<std::int32_t> tokens(kRows);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(fmix32(static_cast<std::uint32_t>(i)) % 6);  // never 6
  tokens[10] = -1, tokens[11] = kVocab;  // not in the vocabulary: left out
  Row expected(kVocab * kDim, 0.0);
  for (std::int64_t r = 0; r < kRows; ++r) {
    const std::int32_t token = tokens[static_cast<std::size_t>(r)];
    if (token < 0 || token >= kVocab) continue;
    for (std::int64_t c = 0; c < kDim; ++c)
      expected[static_cast<std::size_t>(token * kDim + c)] +=
          d_y.row(r)[static_cast<std::size_t>(c)];
  }
  const Row old = d_table.values();
  Run run;
  run.ops.embed_backward(run.context, make_view(tokens.data(), Dtype::int32, {kRows}), d_y.view,
                         {d_table.view, add});
  CHECK(relative_l2(d_table.values(), on_top(old, expected, add)) < 2e-6);
}

namespace {

/// Head and loss over `vocab` tokens; rows 3 and 4 have no target.
void check_head(Dtype dtype, bool add, std::int64_t rows, std::int64_t vocab) {
  constexpr std::int64_t kDim = 6;
  constexpr double kScale = 0.25;
  const Tensor x(dtype, {rows, kDim}, 1), w(dtype, {vocab, kDim}, 2);
  Tensor d_x(dtype, {rows, kDim}, 3), d_w(wide(dtype), {vocab, kDim}, 4);
  std::vector<std::int32_t> targets(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < targets.size(); ++i)
    targets[i] = static_cast<std::int32_t>(i * 31 % static_cast<std::size_t>(vocab));
  targets[3] = targets[4] = -1;
  Tensor expected_w(Dtype::fp64, {vocab, kDim});
  Row expected_x;
  double loss = 1.5;  // what is there is added to
  for (std::int64_t r = 0; r < rows; ++r) {
    Row one(kDim, 0.0), d_logits;
    const std::int32_t target = targets[static_cast<std::size_t>(r)];
    if (target >= 0) {
      loss += kScale * reference::cross_entropy(reference::linear(w.view, 0, vocab, x.row(r)),
                                                static_cast<std::size_t>(target), d_logits);
      for (double& d : d_logits) d *= kScale;
      reference::linear_backward(w.view, 0, x.row(r), d_logits, expected_w.view, one);
    }
    expected_x.insert(expected_x.end(), one.begin(), one.end());
  }
  const Row old_w = d_w.values();
  Run run;
  training::StepScalars scalars;
  scalars.loss = 1.5;
  run.ops.head_loss(run.context,
                    {.x = x.view,
                     .weight = w.view,
                     .targets = make_view(targets.data(), Dtype::int32, {rows}),
                     .scale = kScale,
                     .d_x = {d_x.view},
                     .d_weight = {d_w.view, add}},
                    &scalars);
  CHECK(std::abs(scalars.loss - loss) < 1e-6 * loss);
  CHECK(relative_l2(d_x.values(), expected_x) < tolerance(dtype));
  CHECK(relative_l2(d_w.values(), on_top(old_w, expected_w.values(), add)) < 5e-6);
}

}  // namespace

TEST_CASE("the head's loss and gradients are the reference's", "[training]") {
  check_head(any_dtype(), GENERATE(false, true), 40, 11);
}

TEST_CASE("a head over many tokens is computed in parts with the same result", "[training]") {
  constexpr std::int64_t kVocab = 1 << 17;
  REQUIRE(training::head_rows_at_once(130, kVocab) < 130);
  check_head(GENERATE(Dtype::fp32, Dtype::bf16), GENERATE(false, true), 130, kVocab);
}

TEST_CASE("large logits do not make the loss infinite, and a NaN makes it NaN", "[training]") {
  Tensor x(Dtype::fp32, {5, 4}, 1);
  const Tensor w(Dtype::fp32, {3, 4}, 2);
  for (std::int64_t i = 0; i < 20; ++i) x.view.as<float>()[i] *= 1e4f;
  if (GENERATE(false, true)) x.view.as<float>()[9] = std::numeric_limits<float>::quiet_NaN();
  const bool bad = std::isnan(x.view.as<float>()[9]);
  std::vector<std::int32_t> targets{0, 1, 2, 0, 1};
  Tensor d_x(Dtype::fp32, {5, 4}), d_w(Dtype::fp32, {3, 4});
  training::StepScalars scalars;
  Run run;
  run.ops.head_loss(run.context,
                    {.x = x.view,
                     .weight = w.view,
                     .targets = make_view(targets.data(), Dtype::int32, {5}),
                     .scale = 1,
                     .d_x = {d_x.view},
                     .d_weight = {d_w.view}},
                    &scalars);
  CHECK(std::isnan(scalars.loss) == bad);
  CHECK(std::isfinite(scalars.loss) != bad);
}

TEST_CASE("gradients are clipped to their norm, and one that is not finite stops the step",
          "[training]") {
  constexpr std::int64_t kCount = 200'000;  // several sums
  Tensor g(Dtype::fp32, {kCount}, 3);
  double squares = 0;
  for (const double value : g.values()) squares += value * value;
  Run run;
  training::StepScalars scalars;
  scalars.inputs.step = 41;
  run.ops.clip(run.context, g.view, 2.0, &scalars);
  CHECK(std::abs(scalars.grad_norm - std::sqrt(squares)) < 1e-9 * std::sqrt(squares));
  CHECK(std::abs(scalars.clip * scalars.grad_norm - 2.0) < 1e-5);
  CHECK(scalars.bad_step == 0);
  run.ops.clip(run.context, g.view, 0, &scalars);
  CHECK(scalars.clip == 1);
  g.view.as<float>()[kCount - 1] = std::numeric_limits<float>::infinity();
  run.ops.clip(run.context, g.view, 2.0, &scalars);
  CHECK(scalars.bad_step == 42);
  scalars.inputs.step = 50;
  run.ops.clip(run.context, g.view, 2.0, &scalars);
  CHECK(scalars.bad_step == 42);  // the first one

  Tensor w(Dtype::fp32, {kCount}, 4), m(Dtype::fp32, {kCount}), v(Dtype::fp32, {kCount});
  const Row before = w.values();
  run.ops.adamw(run.context, {w.view, g.view, m.view, v.view, {}}, {}, &scalars);
  CHECK(w.values() == before);
}

TEST_CASE("AdamW moves weights as its paper says, with and without wider copies", "[training]") {
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16);
  const bool masters = dtype == Dtype::bf16 && GENERATE(false, true);
  constexpr std::int64_t kCount = 10'000;
  const training::AdamW options{.weight_decay = 0.1};
  const Tensor g(wide(dtype), {kCount}, 1);
  Tensor m(wide(dtype), {kCount}, 2), v(wide(dtype), {kCount}), w(dtype, {kCount}, 3);
  Tensor copy(wide(dtype), {kCount}, 3);
  const Row old_m = m.values(), old_w = masters ? copy.values() : w.values();
  training::StepScalars scalars;
  scalars.inputs = {.rate = 0.01, .correction1 = 0.19, .correction2 = 0.001999, .step = 1};
  scalars.clip = 0.5;
  Row expected(kCount);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double one = 0.5 * g.values()[i];
    const double mean = (0.9 * old_m[i] + 0.1 * one) / 0.19, square = 0.001 * one * one / 0.001999;
    expected[i] = old_w[i] - 0.01 * (mean / (std::sqrt(square) + 1e-8) + 0.1 * old_w[i]);
    if (i == 100) break;  // values() copies
  }
  Run run;
  run.ops.adamw(run.context, {w.view, g.view, m.view, v.view, masters ? copy.view : TensorView{}},
                options, &scalars);
  const Row moved = masters ? copy.values() : w.values();
  for (std::size_t i = 0; i <= 100; ++i)
    CHECK(std::abs(moved[i] - expected[i]) <= (dtype == Dtype::bf16 && !masters ? 5e-3 : 5e-5));
  if (masters) {  // the model's weights are the copies, rounded
    Tensor rounded(dtype, {kCount});
    store_row(rounded.view, 0, kCount, moved.data());
    CHECK(w.bytes == rounded.bytes);
  }
}

TEST_CASE("a bf16 weight and its low half are the master, and the weight is the nearest",
          "[training]") {
  std::int64_t wrong = 0, lost = 0, ties = 0;
  for (std::uint32_t upper = 0; upper < 0x10000u; ++upper) {
    for (const std::uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const float master = std::bit_cast<float>(upper << 16 | low);
      const training::MasterHalves halves = training::split_master(master);
      const float back = training::join_master(halves);
      const float weight = std::bit_cast<float>(std::uint32_t{halves.weight} << 16);
      if (std::isnan(master)) {
        lost += !std::isnan(back) || !std::isnan(weight);
        continue;
      }
      lost += std::bit_cast<std::uint32_t>(back) != std::bit_cast<std::uint32_t>(master);
      std::uint16_t nearest = 0;  // ties to even
      store_row(make_view(&nearest, Dtype::bf16, {1}), 0, 1, &master);
      if (low == 0x8000u) {
        ++ties;
        wrong += std::abs(weight) < std::abs(master);
      } else {
        wrong += halves.weight != nearest;
      }
    }
  }
  CHECK(lost == 0);
  CHECK(wrong == 0);
  CHECK(ties == 2 * 0x7f80);  // of all finite upper halves; infinity's is a NaN
}

TEST_CASE("AdamW moves masters in halves as it moves fp32 ones, bit for bit", "[training]") {
  constexpr std::int64_t kCount = 10'000;  // pieces that are not full
  const Tensor g(Dtype::fp32, {kCount}, 1);
  const training::AdamW options{.weight_decay = 0.1};
  training::StepScalars scalars;
  scalars.inputs = {.rate = 0.01, .correction1 = 0.19, .correction2 = 0.001999, .step = 1};
  Tensor m(Dtype::fp32, {kCount}, 2), v(Dtype::fp32, {kCount}), w(Dtype::bf16, {kCount});
  Tensor masters(Dtype::fp32, {kCount}, 3), m2 = m, v2 = v, w2 = w;
  for (Tensor* copy : {&m2, &v2, &w2}) copy->view.data = copy->bytes.data();
  std::vector<std::int16_t> low(kCount);
  training::split_masters(masters.view.as<float>(), kCount, w2.view.as<std::uint16_t>(),
                          low.data());
  Run run;
  run.ops.adamw(run.context, {w.view, g.view, m.view, v.view, masters.view}, options, &scalars);
  run.ops.adamw(run.context, {w2.view, g.view, m2.view, v2.view, {}, low.data()}, options,
                &scalars);
  Tensor joined(Dtype::fp32, {kCount});
  training::join_masters(w2.view.as<std::uint16_t>(), low.data(), kCount, joined.view.as<float>());
  CHECK(joined.bytes == masters.bytes);
  CHECK(m2.bytes == m.bytes);
  CHECK(v2.bytes == v.bytes);
}

}  // namespace nsa::test
