// The oracle of composites where many selections are right.
#include <algorithm>
#include <array>

#include "catch.hpp"
#include "launch_support.hpp"
#include "operands/composite.hpp"

namespace nsa::test {
namespace {

constexpr std::int64_t kRow = 299;

Problem tied_problem() {
  Problem p = small_problem();
  p.seq_lens = {300};
  p.geometry = {4, 2, 8, 8, 6};  // 5 of 34 blocks are free to choose: 278,256 ways
  return p;
}

void set_blocks(const TensorView& blocks, const std::array<std::int32_t, 8>& ids) {
  for (std::int64_t head = 0; head < blocks.shape[1]; ++head)
    std::copy(ids.begin(), ids.end(), blocks.as<std::int32_t>() + blocks.at(kRow, head));
}

/// Attention made of its stages, over these blocks in kRow.
std::vector<HostTensor> attention_over(const std::array<std::int32_t, 8>& ids, const Problem& p,
                                       const AttentionTensors& in) {
  const auto run = [&](Stage stage, std::string_view name, const std::vector<TensorView>& inputs) {
    return launch(cpu_variant(stage, name), p, inputs);
  };
  const auto cmp = run(Stage::compress, "avg", {in.cmp.k, in.cmp.v});
  const auto o_cmp =
      run(Stage::attend_compressed, "sdpa_math", {in.q, cmp[0].view(), cmp[1].view()});
  auto blocks = run(Stage::score, "materialised", {in.q, cmp[0].view()});
  set_blocks(blocks[0].view(), ids);
  const auto ranges = run(Stage::ranges, "ranges_v2", {blocks[0].view()});
  const auto o_sel = run(Stage::attend_selected, "fused_query",
                         {in.q, in.sel.k, in.sel.v, blocks[0].view(), ranges[0].view()});
  const auto o_win = run(Stage::attend_window, "sdpa_math", {in.q, in.win.k, in.win.v});
  auto out = run(Stage::gate_combine, "gate_fused",
                 {in.q, o_cmp[0].view(), o_sel[0].view(), o_win[0].view(), in.gate.fc1_w,
                  in.gate.fc1_b, in.gate.fc2_w, in.gate.fc2_b});
  out.push_back(std::move(blocks[0]));
  return out;
}

}  // namespace

TEST_CASE("attention is right over the blocks that it says it took, where these are right",
          "[kernels]") {
  const Problem p = tied_problem();
  auto inputs = make_inputs(Stage::attention, p, 3);
  std::fill(inputs[0].bytes.begin(), inputs[0].bytes.end(), std::byte{0});  // all scores tie
  const auto in = views_of(inputs);
  const Oracle oracle(Stage::attention, p, in);
  const double right = row_tolerance(Stage::attention, p.dtype);
  const std::int64_t rows[] = {kRow};
  const auto error = [&](const std::vector<HostTensor>& out) {
    return oracle.verify(views_of(out), rows).worst_row_error;
  };

  const std::array<std::int32_t, 8> any{0, 11, 17, 23, 29, 31, 36, 37};
  auto out = attention_over(any, p, attention_inputs(in));
  CHECK(error(out) <= right);
  set_blocks(out[1].view(), {0, 11, 17, 23, 29, 30, 36, 37});  // right too, but not what o is over
  CHECK(error(out) > right);
  set_blocks(out[1].view(), {0, 11, 17, 23, 29, 31, 35, 37});  // 36 is forced
  CHECK(error(out) >= 1);                                      // in all KV heads
}

}  // namespace nsa::test
