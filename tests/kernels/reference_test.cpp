// The reference against facts that do not come from it, and the oracle against wrong outputs.
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "cpu/convert.hpp"
#include "launch_support.hpp"
#include "reference/reference.hpp"

namespace nsa::test {
namespace {

Problem window_problem(Dtype dtype) {
  Problem p = small_problem();
  p.dtype = dtype;
  return p;
}

/// A right output of the window stage that `spoil` may change.
template <class Spoil>
Oracle::Verdict verdict_after(const Problem& p, Spoil spoil) {
  const auto inputs = make_inputs(Stage::attend_window, p, 5);
  auto outputs = launch(cpu_variant(Stage::attend_window, "sdpa_math"), p, views_of(inputs));
  spoil(outputs[0].view());
  const auto in = views_of(inputs), out = views_of(outputs);
  return Oracle(Stage::attend_window, p, in).verify(out);
}

}  // namespace

TEST_CASE("RoPE turns adjacent pairs by the published amounts", "[kernels]") {
  const auto rotated = [](std::int64_t position) {
    reference::Row x{1, 2, 3, 4};
    reference::rotate(x, position, {});
    return x;
  };
  // The published values were computed in fp32.
  const auto close = [](const reference::Row& actual, const reference::Row& expected) {
    for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(actual[i] - expected[i]) < 5e-7);
  };
  close(rotated(0), {1, 2, 3, 4});
  close(rotated(1), {-1.14263964, 1.92207563, 2.95985079, 4.02979946});
  close(rotated(7), {-0.56007093, 2.16479111, 2.71288180, 4.20003271});
}

TEST_CASE("the RoPE scale divides positions", "[kernels]") {
  reference::Row x{1, 2, 3, 4}, y = x;
  AttentionOptions halved;
  halved.rope_scale = 2;
  reference::rotate(x, 14, halved);
  reference::rotate(y, 7, {});
  for (std::size_t i = 0; i < 4; ++i) CHECK(x[i] == Approx(y[i]).epsilon(1e-14));
}

TEST_CASE("a query without visible keys attends to nothing: zeros, and -inf", "[kernels]") {
  std::vector<double> k{1, 2}, v{3, 4};
  const auto view = [](std::vector<double>& x) {
    return make_view(x.data(), Dtype::fp64, {1, 1, 2});
  };
  double lse = 0;
  const auto o = reference::attend({1, 1}, view(k), view(v), {}, 0, &lse);
  CHECK(o == reference::Row{0, 0});
  CHECK(lse == -std::numeric_limits<double>::infinity());
}

TEST_CASE("full coverage of the selected branch equals dense causal attention", "[kernels]") {
  Problem p = small_problem();
  p.geometry.sel_count = 5;  // 5 x 8 = all 40 tokens
  const auto inputs = make_inputs(Stage::attend_selected, p, 9);
  const auto in = views_of(inputs);
  Problem dense = p;
  dense.geometry.window = 40;
  const Oracle selected(Stage::attend_selected, p, in);
  const Oracle window(Stage::attend_window, dense, std::span(in).first(3));
  for (std::int64_t t = 0; t < 40; ++t) {
    const auto a = selected.row(0, t), b = window.row(0, t);
    for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(a[i] == Approx(b[i]).epsilon(1e-12));
  }
}

TEST_CASE("the oracle accepts a right output of every storage type", "[kernels]") {
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  const auto verdict = verdict_after(window_problem(dtype), [](const TensorView&) {});
  CHECK(verdict.worst_row_error <= row_tolerance(Stage::attend_window, dtype));
  CHECK(verdict.poison_left == 0);
  CHECK(verdict.non_finite == 0);
}

TEST_CASE("one wrong element in one row is found, and the row named", "[kernels]") {
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  const auto verdict = verdict_after(window_problem(dtype), [](const TensorView& o) {
    double value = 0;
    load_row(o, o.at(23, 1, 2), 1, &value);
    value = value * 1.1 + 0.05;
    store_row(o, o.at(23, 1, 2), 1, &value);
  });
  CHECK(verdict.worst_row == 23);
  CHECK(verdict.worst_row_error > row_tolerance(Stage::attend_window, dtype));
}

TEST_CASE("untouched and non-finite elements are counted", "[kernels]") {
  const Dtype dtype = GENERATE(Dtype::fp64, Dtype::fp32, Dtype::bf16, Dtype::fp16);
  const auto verdict = verdict_after(window_problem(dtype), [&](const TensorView& o) {
    const auto at = [&](std::int64_t t, std::int64_t h, std::int64_t c) {
      return static_cast<std::byte*>(o.data) +
             static_cast<std::size_t>(o.at(t, h, c)) * size_of(dtype);
    };
    std::fill_n(at(11, 0, 0), 3 * size_of(dtype), kPoison);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    store_row(o, o.at(12, 3, 3), 1, &nan);
  });
  CHECK(verdict.poison_left == 3);
  CHECK(verdict.non_finite == 1);
  CHECK(verdict.worst_row == 12);
  CHECK(std::isinf(verdict.worst_row_error));
}

TEST_CASE("only the rows that are asked for are compared", "[kernels]") {
  const Problem p = window_problem(Dtype::fp32);
  const auto inputs = make_inputs(Stage::attend_window, p, 5);
  const auto outputs = make_outputs(Stage::attend_window, p);
  const auto in = views_of(inputs), out = views_of(outputs);
  const std::int64_t rows[] = {3, 17};
  CHECK(Oracle(Stage::attend_window, p, in).verify(out, rows).poison_left == 2 * 16);
}

TEST_CASE("a selection that swaps tied blocks is right, a worse, doubled or incomplete one wrong",
          "[kernels]") {
  Problem p = small_problem();
  p.seq_lens = {150};
  auto inputs = make_inputs(Stage::score, p, 3);
  std::fill(inputs[1].bytes.begin(), inputs[1].bytes.end(), std::byte{0});  // all scores tie
  const auto in = views_of(inputs);
  const Oracle oracle(Stage::score, p, in);
  auto out = launch(cpu_variant(Stage::score, "materialised"), p, in);
  const TensorView blocks = out[0].view();
  const auto error = [&](std::array<std::int32_t, 4> row) {
    std::copy(row.begin(), row.end(), blocks.as<std::int32_t>() + blocks.at(149, 0));
    return oracle.compare(0, 149, blocks).relative_l2;
  };
  CHECK(error({0, 1, 17, 18}) == 0);
  CHECK(error({0, 9, 17, 18}) == 0);
  CHECK(error({0, 9, 16, 18}) == .5);  // 17 is forced
  CHECK(error({0, 0, 17, 18}) == .5);
  CHECK(error({-1, 0, 17, 18}) == .5);
  CHECK(error({0, 17, 1, 18}) == .5);
  CHECK(error({0, 17, 18, 19}) == .5);  // 19 does not exist yet
}

TEST_CASE("a selection by lower scores is wrong", "[kernels]") {
  Problem p = small_problem();
  p.seq_lens = {150};
  const auto inputs = make_inputs(Stage::score, p, 3);
  const auto in = views_of(inputs);
  const Oracle oracle(Stage::score, p, in);
  auto out = launch(cpu_variant(Stage::score, "materialised"), p, in);
  auto* row = out[0].view().as<std::int32_t>() + out[0].view().at(149, 0);
  REQUIRE(oracle.compare(0, 149, out[0].view()).relative_l2 == 0);
  row[1] = row[1] == 7 ? 8 : 7;
  CHECK(oracle.compare(0, 149, out[0].view()).relative_l2 == .5);
}

TEST_CASE("the oracle of several stages compares the outputs of each", "[kernels]") {
  const Stage span[] = {Stage::attend_compressed, Stage::score};
  const Problem p = small_problem();
  REQUIRE(SpanOracle::covers(span, p));
  const auto inputs = make_inputs(span, p, 5);
  const auto in = views_of(inputs);
  auto outputs = launch(cpu_variant(Stage::attend_compressed, "sdpa_math"), p, in);
  outputs.push_back(launch(cpu_variant(Stage::score, "materialised"), p, {in[0], in[1]}).front());
  const SpanOracle oracle(span, p, in);
  CHECK(oracle.verify(views_of(outputs)).worst_row_error <= row_tolerance(span, p.dtype));

  outputs[1].view().as<std::int32_t>()[17 * p.kv_heads * p.geometry.sel_count] = 3;
  const auto wrong = oracle.verify(views_of(outputs));
  CHECK(wrong.worst_row == 17);
  CHECK(wrong.worst_row_error >= 0.5);
}

TEST_CASE("no oracle takes stages of which one reads what another writes", "[kernels]") {
  const Stage chain[] = {Stage::score, Stage::ranges};
  const Stage rows_differ[] = {Stage::compress, Stage::attend_window};
  CHECK_FALSE(SpanOracle::covers(chain, small_problem()));
  CHECK_FALSE(SpanOracle::covers(rows_differ, small_problem()));
}

}  // namespace nsa::test
