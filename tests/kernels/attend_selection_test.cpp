// What counts as selected: overlaps, duplicates, nothing, everything; and the log-sum-exp.
#include <cmath>

#include "attend_selected/cpu/spans.hpp"
#include "attend_support.hpp"
#include "catch.hpp"
#include "cpu/dense_attention.hpp"

namespace nsa::test {
namespace {

constexpr std::size_t kBlocks = 3, kRanges = 4;  // among the inputs of attend_selected

std::int32_t* ints(HostTensor& tensor) { return tensor.view().as<std::int32_t>(); }

/// log-sum-exp of q . k / sqrt(Dk) over the keys that the ranges of a row give, in fp64.
double lse_of_row(const Problem& p, const std::vector<HostTensor>& in, std::int64_t row,
                  std::int64_t head) {
  std::vector<cpu::TokenSpan> spans(static_cast<std::size_t>(p.geometry.sel_count));
  const std::int64_t group = head / p.heads_per_group();
  const std::int64_t count = cpu::row_spans(in[kRanges].view(), row, group, row, spans.data());
  double sum = 0;
  for (std::int64_t s = 0; s < count; ++s) {
    const cpu::TokenSpan span = spans[static_cast<std::size_t>(s)];
    for (std::int64_t key = span.begin; key < span.end; ++key) {
      double dot = 0;
      for (std::int64_t d = 0; d < p.head_dim_k; ++d) {
        dot += element(in[0], in[0].view().at(row, head, d)) *
               element(in[1], in[1].view().at(key, group, d));
      }
      sum += std::exp(dot / std::sqrt(static_cast<double>(p.head_dim_k)));
    }
  }
  return std::log(sum);
}

}  // namespace

TEST_CASE("overlapping, unordered and doubled selections count a token once", "[kernels][attend]") {
  const Problem problem = middle_problem();
  auto inputs = make_inputs(Stage::attend_selected, problem, 11);
  const std::int64_t rows = problem.total_tokens() * problem.kv_heads;
  for (std::int64_t r = 0; r < rows; ++r) {  // blocks 1, 0, 1; ranges [8, 24) [0, 16) [10, 12) ()
    const std::int64_t t = r / problem.kv_heads;
    const auto end = [&](std::int64_t e) { return static_cast<std::int32_t>(std::min(e, t + 1)); };
    const std::int32_t blocks[] = {1, 0, 1, -1};
    std::copy_n(blocks, 4, ints(inputs[kBlocks]) + r * 4);
    const std::int32_t ranges[] = {8, end(32), 0, end(16), 10, end(12), 0, 0};
    std::copy_n(ranges, 8, ints(inputs[kRanges]) + r * 8);
  }
  const auto in = views_of(inputs);
  const Oracle oracle(Stage::attend_selected, problem, in);
  for (const Variant* variant : cpu_rows(Stage::attend_selected)) {
    for (const VariantId& id : ids_of(*variant)) {
      INFO(to_string(id));
      const auto outputs = launch(*variant, problem, in, id.point);
      CHECK(oracle.verify(views_of(outputs)).worst_row_error <= 1e-5);
    }
  }
}

TEST_CASE("a row that selected nothing is exactly zero with log-sum-exp -inf",
          "[kernels][attend]") {
  const Problem problem = middle_problem();
  auto inputs = make_inputs(Stage::attend_selected, problem, 12);
  const std::int64_t empty = 70 * problem.kv_heads + 1;  // token 70, group 1
  std::fill_n(ints(inputs[kBlocks]) + empty * 4, 4, -1);
  std::fill_n(ints(inputs[kRanges]) + empty * 8, 8, 0);
  std::vector<float> lse(static_cast<std::size_t>(problem.total_tokens() * problem.q_heads), 7.0f);
  Saved saved;
  saved.lse_sel = make_view(lse.data(), Dtype::fp32, {problem.total_tokens(), problem.q_heads});
  for (const Variant* variant : cpu_rows(Stage::attend_selected)) {
    INFO(variant->name);
    const auto outputs = launch(*variant, problem, views_of(inputs), {}, {}, &saved);
    const std::vector<double> row = row_of(outputs[0], 70);
    const std::size_t half = row.size() / 2;
    CHECK(std::all_of(row.begin() + static_cast<std::ptrdiff_t>(half), row.end(),
                      [](double x) { return x == 0; }));
    CHECK(std::none_of(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(half),
                       [](double x) { return x == 0; }));
    for (std::int64_t h = 0; h < problem.q_heads; ++h) {
      const float value = lse[static_cast<std::size_t>(70 * problem.q_heads + h)];
      CHECK(std::isinf(value) == (h >= problem.heads_per_group()));
    }
  }
}

TEST_CASE("every row of the selected branch saves the log-sum-exp of its keys",
          "[kernels][attend]") {
  const Problem problem = middle_problem(90);
  const auto inputs = make_inputs(Stage::attend_selected, problem, 13);
  std::vector<float> lse(static_cast<std::size_t>(problem.total_tokens() * problem.q_heads));
  Saved saved;
  saved.lse_sel = make_view(lse.data(), Dtype::fp32, {problem.total_tokens(), problem.q_heads});
  for (const Variant* variant : cpu_rows(Stage::attend_selected)) {
    INFO(variant->name);
    std::fill(lse.begin(), lse.end(), 99.0f);
    launch(*variant, problem, views_of(inputs), {}, {}, &saved);
    double worst = 0;
    for (std::int64_t row = 0; row < 90; row += 7) {
      for (std::int64_t h = 0; h < problem.q_heads; ++h) {
        const double got = lse[static_cast<std::size_t>(row * problem.q_heads + h)];
        worst = std::max(worst, std::abs(got - lse_of_row(problem, inputs, row, h)));
      }
    }
    CHECK(worst < 1e-5);
  }
}

TEST_CASE("window and compressed branches save the log-sum-exp, -inf where nothing is visible",
          "[kernels][attend]") {
  const Problem problem = middle_problem(60);
  const auto size = static_cast<std::size_t>(problem.total_tokens() * problem.q_heads);
  for (const Stage stage : {Stage::attend_window, Stage::attend_compressed}) {
    const auto inputs = make_inputs(stage, problem, 14);
    std::vector<float> first;
    for (const Variant* variant : cpu_rows(stage)) {
      INFO(to_string(stage) << " " << variant->name);
      std::vector<float> lse(size, 99.0f);
      Saved saved;
      (stage == Stage::attend_window ? saved.lse_win : saved.lse_cmp) =
          make_view(lse.data(), Dtype::fp32, {problem.total_tokens(), problem.q_heads});
      launch(*variant, problem, views_of(inputs), {}, {}, &saved);
      // Token 6 sees no compressed token (l = 8); token 0 sees itself alone in its window.
      CHECK(std::isinf(lse[static_cast<std::size_t>(6 * problem.q_heads)]) ==
            (stage == Stage::attend_compressed));
      if (first.empty()) first = lse;
      for (std::size_t i = 0; i < size; ++i) {
        if (std::isfinite(first[i])) REQUIRE(lse[i] == Approx(first[i]).margin(1e-5));
      }
    }
  }
}

TEST_CASE("full coverage makes selected and window attention dense causal attention",
          "[kernels][attend]") {
  Problem problem = middle_problem(130);
  problem.phase = Phase::chunked_prefill;
  problem.seq_lens = {130, 20};
  problem.context_lens = {0, 55};
  problem.geometry.window = 200;
  problem.geometry.sel_count = 9;  // 9 x 16 tokens cover 130
  const auto inputs = make_inputs(Stage::attend_selected, problem, 15);
  auto dense = make_outputs(Stage::attend_selected, problem);
  Workspace workspace;
  const auto in = views_of(inputs), out = views_of(dense);
  const HostLaunch of_dense{.row = cpu_variant(Stage::attend_selected, "dense_prefix"),
                            .problem = problem,
                            .in = in,
                            .out = out};
  const LaunchArgs args = of_dense.args(workspace);
  const SelectedTensors tensors = SelectedTensors::of(args);
  cpu::dense_attention(args, {.q = tensors.q, .kv = tensors.kv, .o = tensors.o});
  CHECK(static_cast<std::int64_t>(workspace.peak_bytes()) <= cpu::dense_attention_bytes(problem));
  for (const Stage stage : {Stage::attend_selected, Stage::attend_window}) {
    for (const Variant* variant : cpu_rows(stage)) {
      INFO(to_string(stage) << " " << variant->name);
      const auto count = stage == Stage::attend_window ? 3 : 5;  // q, k, v; blocks, ranges
      const auto got = launch(*variant, problem, {in.begin(), in.begin() + count});
      double worst = 0;
      for (std::int64_t r = 0; r < problem.total_tokens(); ++r) {
        const auto a = row_of(got[0], r), b = row_of(dense[0], r);
        for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
      }
      CHECK(worst < 1e-5);
    }
  }
  // The dense answer itself, against the fp64 oracle of a window that covers everything.
  const Oracle oracle(Stage::attend_window, problem, std::span(in).first(3));
  CHECK(oracle.verify(out).worst_row_error < 1e-5);
}

TEST_CASE("dense_prefix stays exact where early rows selected less than everything",
          "[kernels][attend]") {
  const Problem problem = middle_problem();
  auto inputs = make_inputs(Stage::attend_selected, problem, 16);
  const std::int64_t row = 40 * problem.kv_heads;  // token 40, group 0: only block 1
  const std::int32_t blocks[] = {-1, -1, -1, 1};
  std::copy_n(blocks, 4, ints(inputs[kBlocks]) + row * 4);
  const std::int32_t ranges[] = {16, 32, 0, 0, 0, 0, 0, 0};
  std::copy_n(ranges, 8, ints(inputs[kRanges]) + row * 8);
  const auto in = views_of(inputs);
  const Oracle oracle(Stage::attend_selected, problem, in);
  const auto outputs = launch(cpu_variant(Stage::attend_selected, "dense_prefix"), problem, in);
  CHECK(oracle.verify(views_of(outputs)).worst_row_error <= 1e-5);
}

TEST_CASE("fused_query and dense_prefix need no ranges, the others no blocks",
          "[kernels][attend]") {
  const Problem problem = middle_problem();
  const auto inputs = make_inputs(Stage::attend_selected, problem, 17);
  const Oracle oracle(Stage::attend_selected, problem, views_of(inputs));
  for (const Variant* variant : cpu_rows(Stage::attend_selected)) {
    const bool by_block = variant->name == "fused_query" || variant->name == "dense_prefix";
    auto in = views_of(inputs);
    in[by_block ? kRanges : kBlocks] = TensorView{};
    INFO(variant->name);
    const auto outputs = launch(*variant, problem, in);
    CHECK(oracle.verify(views_of(outputs)).worst_row_error <= 1e-5);
  }
}

}  // namespace nsa::test
