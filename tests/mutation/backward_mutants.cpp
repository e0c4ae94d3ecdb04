// Backward passes with one planted fault each.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "changed_launch.hpp"
#include "mutant.hpp"
#include "operands/attend_backward.hpp"

namespace nsa::test {
namespace {

constexpr Stage kSelected = Stage::attend_selected, kWindow = Stage::attend_window;
constexpr const char* kBlock = "fused_block";
constexpr const char* kBand = "fa2_varlen";

Problem backward_problem() {
  Problem p = ragged_problem();
  p.direction = Direction::backward;
  return p;
}

constexpr auto kDQ = BandBackwardTensors::kDQ, kDK = BandBackwardTensors::kDK,
               kDV = BandBackwardTensors::kDV;
constexpr std::int64_t kToken = 101;

void clear_row(const TensorView& view, std::int64_t row, std::int64_t head = -1) {
  scale(view, 0, row, head);
}

void one_block_missing(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const TensorView blocks = launch.copy_input("blocks");
  blocks.as<std::int32_t>()[blocks.at(kToken, 1, blocks.shape[2] - 2)] = -1;
  launch.run(kSelected, kBlock);
}

void one_block_for_another(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const TensorView blocks = launch.copy_input("blocks");
  for (std::int64_t row = 0; row < blocks.shape[0]; ++row) {
    std::int32_t& id = blocks.as<std::int32_t>()[blocks.at(row, 0, blocks.shape[2] - 1)];
    id = std::max(0, id - 1);
  }
  launch.run(kSelected, kBlock);
}

void wrong_sign(const LaunchArgs& args) {
  ChangedLaunch(args).run(kSelected, kBlock);
  scale(args.out[kDQ], -1);
}

void scale_forgotten(const LaunchArgs& args) {
  ChangedLaunch(args).run(kWindow, kBand);
  scale(args.out[kDK], std::sqrt(static_cast<double>(args.problem.head_dim_k)));
}

/// Adds what one token says of its keys once more.
void one_query_twice(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  launch.run(kSelected, kBlock);
  const TensorView d_o = launch.copy_input("d_o_sel");
  for (std::int64_t row = 0; row < d_o.shape[0]; ++row)
    if (row != kToken) clear_row(d_o, row);
  launch.out[kDQ] = {};
  launch.accumulate = 1u << kDK | 1u << kDV;
  launch.run(kSelected, kBlock);
}

/// What two threads that read before either writes do to a key.
void lost_update(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  launch.run(kSelected, kBlock);
  clear_row(launch.copy_input("d_o_sel"), kToken);
  launch.out[kDQ] = {};
  launch.run(kSelected, kBlock);
}

void one_head_of_the_group(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  launch.run(kWindow, kBand);
  const TensorView d_o = launch.copy_input("d_o_win");
  for (std::int64_t head = 0; head < d_o.shape[1]; head += 2) scale(d_o, 0, -1, head);
  launch.out[kDQ] = {};
  launch.run(kWindow, kBand);
}

/// Of the step before: each row has that of its neighbour.
void stale_log_sum_exp(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const TensorView& lse = launch.saved.lse_win;
  std::vector<float> moved(lse.as<float>(), lse.as<float>() + lse.elements());
  std::rotate(moved.begin(), moved.begin() + lse.shape[1], moved.end());
  launch.saved.lse_win.data = moved.data();
  launch.run(kWindow, kBand);
}

void log_sum_exp_in_log2(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const TensorView& lse = launch.saved.lse_sel;
  std::vector<float> other(lse.as<float>(), lse.as<float>() + lse.elements());
  for (float& x : other) x *= 1.4426950f;
  launch.saved.lse_sel.data = other.data();
  launch.run(kSelected, kBlock);
}

void delta_left_out(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  scale(launch.copy_input("o_sel"), 0);
  launch.run(kSelected, kBlock);
}

void delta_of_a_neighbour(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const TensorView o = launch.copy_input("o_win");
  auto* bytes = o.as<std::byte>();
  std::rotate(bytes, bytes + static_cast<std::size_t>(o.stride[0]) * size_of(o.dtype),
              bytes + o.bytes());
  launch.run(kWindow, kBand);
}

template <int kMore>
void window_off_by_one(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  launch.problem.geometry.window += kMore;
  launch.run(kWindow, kBand);
}

void keys_of_another_sequence(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  launch.sequences.back().kv_begin -= 1;
  launch.run(kWindow, kBand);
}

void added_to_what_was_there(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  launch.accumulate = 1u << kDV;
  launch.run(kSelected, kBlock);
}

void unwritten_row(const LaunchArgs& args) {
  const TensorView& d_k = args.out[kDK];
  auto* row =
      d_k.as<std::byte>() + static_cast<std::size_t>(kToken * d_k.stride[0]) * size_of(d_k.dtype);
  const std::vector<std::byte> before(
      row, row + static_cast<std::size_t>(d_k.stride[0]) * size_of(d_k.dtype));
  ChangedLaunch(args).run(kWindow, kBand);
  std::ranges::copy(before, row);
}

void heads_swapped(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  launch.run(kSelected, kBlock);
  const TensorView& d_q = args.out[kDQ];
  for (std::int64_t c = 0; c < d_q.shape[2]; ++c) {
    const double a = get(d_q, d_q.at(kToken, 0, c)), b = get(d_q, d_q.at(kToken, 1, c));
    put(d_q, d_q.at(kToken, 0, c), b);
    put(d_q, d_q.at(kToken, 1, c), a);
  }
}

void sums_in_16_bits(const LaunchArgs& args) {
  ChangedLaunch(args).run(kWindow, kBand);
  const TensorView& d_v = args.out[kDV];
  for (std::int64_t i = 0; i < d_v.elements(); ++i) put(d_v, i, to_bf16(get(d_v, i)));
}

int g_launches = 0;

void wrong_every_other_time(const LaunchArgs& args) {
  ChangedLaunch(args).run(kWindow, kBand);
  if (++g_launches % 2 == 1) scale(args.out[kDK], 1.001, kToken);
}

void last_block_left_out(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  launch.sequences.back().cmp_len -= 1;
  launch.run(Stage::compress, "avg");
}

void share_of_one_more(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::compress, "avg");
  const auto l = static_cast<double>(args.problem.geometry.cmp_block);
  scale(output_of(args, "d_v_cmp_raw"), l / (l + 1));
}

void temperature_forgotten(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  launch.options.gate_tau = 1.25;
  launch.run(Stage::gate_combine, "gate_fused");
}

void mean_over_heads_forgotten(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::gate_combine, "gate_fused");
  scale(output_of(args, "d_q"), static_cast<double>(args.problem.heads_per_group()));
}

void one_row_of_the_gates_weights(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::gate_combine, "gate_fused");
  const TensorView& d_fc2 = output_of(args, "d_fc2_w");
  put(d_fc2, d_fc2.at(2), -get(d_fc2, d_fc2.at(2)));
}

void turned_back_too_far(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  for (Sequence& s : launch.sequences) s.kv_len += 1;
  launch.run(Stage::project_rope, "gemm");
}

void last_token_of_a_tile_left_out(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  launch.run(Stage::out_proj, "gemm");
  const TensorView d_y = launch.copy_input("d_y");
  for (std::int64_t c = 0; c < d_y.shape[1]; ++c) put(d_y, d_y.at(d_y.shape[0] - 1, c), 0);
  launch.out[0] = {};
  launch.run(Stage::out_proj, "gemm");
}

}  // namespace

std::span<const Mutant> backward_mutants() {
  static constexpr std::array kMutants{
      Mutant{"backward: a block missing", kSelected, kBlock, one_block_missing, backward_problem},
      Mutant{"backward: the own block taken for the one before", kSelected, kBlock,
             one_block_for_another, backward_problem},
      Mutant{"backward: a sign", kSelected, kBlock, wrong_sign, backward_problem},
      Mutant{"backward: the scale forgotten", kWindow, kBand, scale_forgotten, backward_problem},
      Mutant{"backward: a query twice", kSelected, kBlock, one_query_twice, backward_problem},
      Mutant{"backward: a lost update", kSelected, kBlock, lost_update, backward_problem},
      Mutant{"backward: one head of the group alone", kWindow, kBand, one_head_of_the_group,
             backward_problem},
      Mutant{"backward: a stale log-sum-exp", kWindow, kBand, stale_log_sum_exp, backward_problem},
      Mutant{"backward: a log-sum-exp in units of log 2", kSelected, kBlock, log_sum_exp_in_log2,
             backward_problem},
      Mutant{"backward: d_o . o left out", kSelected, kBlock, delta_left_out, backward_problem},
      Mutant{"backward: d_o . o of a neighbour", kWindow, kBand, delta_of_a_neighbour,
             backward_problem},
      Mutant{"backward: a key too many", kWindow, kBand, window_off_by_one<1>, backward_problem},
      Mutant{"backward: a key too few", kWindow, kBand, window_off_by_one<-1>, backward_problem},
      Mutant{"backward: keys of another sequence", kWindow, kBand, keys_of_another_sequence,
             backward_problem},
      Mutant{"backward: added to what was there", kSelected, kBlock, added_to_what_was_there,
             backward_problem},
      Mutant{"backward: an unwritten row", kWindow, kBand, unwritten_row, backward_problem},
      Mutant{"backward: heads swapped in a row", kSelected, kBlock, heads_swapped,
             backward_problem},
      Mutant{"backward: sums in 16 bits", kWindow, kBand, sums_in_16_bits, backward_problem},
      Mutant{"backward: wrong every other time", kWindow, kBand, wrong_every_other_time,
             backward_problem},
      Mutant{"backward: the last block left out", Stage::compress, "avg", last_block_left_out,
             backward_problem},
      Mutant{"backward: the share of one token more", Stage::compress, "avg", share_of_one_more,
             backward_problem},
      Mutant{"backward: another temperature", Stage::gate_combine, "gate_fused",
             temperature_forgotten, backward_problem},
      Mutant{"backward: no mean over heads", Stage::gate_combine, "gate_fused",
             mean_over_heads_forgotten, backward_problem},
      Mutant{"backward: one element of the gate's weights", Stage::gate_combine, "gate_fused",
             one_row_of_the_gates_weights, backward_problem},
      Mutant{"backward: a position too far", Stage::project_rope, "gemm", turned_back_too_far,
             backward_problem},
      Mutant{"backward: a token left out of the weights", Stage::out_proj, "gemm",
             last_token_of_a_tile_left_out, backward_problem},
  };
  return kMutants;
}

}  // namespace nsa::test
