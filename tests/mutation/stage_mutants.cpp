#include <algorithm>
#include <array>
#include <cmath>

#include "changed_launch.hpp"
#include "mutant.hpp"
#include "operands/select.hpp"

namespace nsa::test {
namespace {

void only_the_first_head_of_a_group(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const TensorView q = launch.copy_input("q");
  const std::int64_t group = args.problem.heads_per_group();
  for (std::int64_t row = 0; row < q.shape[0]; ++row) {
    for (std::int64_t head = 0; head < q.shape[1]; ++head) {
      float* data = q.as<float>();
      std::copy_n(data + q.at(row, head - head % group), q.shape[2], data + q.at(row, head));
    }
  }
  launch.run(Stage::score, "streamed");
}

/// Calls edit(blocks [sel_count] int32) for every row and group of what the right row selects.
template <class Edit>
void edit_blocks(const LaunchArgs& args, Edit edit) {
  ChangedLaunch(args).run(Stage::score, "streamed");
  const TensorView& blocks = args.out[0];
  for (std::int64_t row = 0; row < blocks.shape[0]; ++row) {
    for (std::int64_t g = 0; g < blocks.shape[1]; ++g)
      edit(blocks.as<std::int32_t>() + blocks.at(row, g));
  }
}

void block_of_the_future(const LaunchArgs& args) {
  const std::int64_t last = args.problem.geometry.sel_count - 1;
  edit_blocks(args, [&](std::int32_t* blocks) { ++blocks[last]; });
}

void forced_block_forgotten(const LaunchArgs& args) {
  edit_blocks(args, [&](std::int32_t* blocks) { std::replace(blocks, blocks + 3, 0, -1); });
}

/// Score of every complete block for one query and group (equations 8 and 9, docs/nsa.md 4).
std::vector<double> block_scores(const LaunchArgs& args, const Sequence& s, std::int64_t row,
                                 std::int64_t group, std::int64_t t) {
  const Geometry& g = args.problem.geometry;
  const auto& [q, k, blocks] = ScoreTensors::of(args);
  std::vector<double> scores(static_cast<std::size_t>((t + 1) / g.sel_block), 0.0);
  const std::int64_t heads = args.problem.heads_per_group(), visible = num_compressed(t + 1, g);
  for (std::int64_t head = group * heads; head < (group + 1) * heads; ++head) {
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t i = 0; i < visible; ++i) {
      double dot = 0;
      for (std::int64_t c = 0; c < q.shape[2]; ++c)
        dot += get(q, q.at(row, head, c)) * get(k, k.at(s.cmp_begin + i, group, c));
      weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(q.shape[2]))));
      sum += weights.back();
    }
    for (std::int64_t i = 0; i < visible; ++i) {
      for (std::size_t j = 0; j < scores.size(); ++j) {
        const std::int64_t from = static_cast<std::int64_t>(j) * g.sel_block;
        const std::int64_t begin = std::max(from, i * g.cmp_stride);
        const std::int64_t end = std::min(from + g.sel_block, i * g.cmp_stride + g.cmp_block);
        const auto share = static_cast<double>(std::max<std::int64_t>(0, end - begin));
        scores[j] += weights[static_cast<std::size_t>(i)] / sum * share;
      }
    }
  }
  return scores;
}

/// Top n beside the forced blocks (docs/nsa.md 5); ties to the lower index, or to the higher one.
template <bool kLowerFirst>
void select(const LaunchArgs& args) {
  const Geometry& g = args.problem.geometry;
  const TensorView& out = args.out[0];
  for (const Sequence& s : args.sequences) {
    for (std::int64_t i = 0; i < s.q_len * args.problem.kv_heads; ++i) {
      const std::int64_t row = s.q_begin + i / args.problem.kv_heads;
      const std::int64_t group = i % args.problem.kv_heads;
      const std::int64_t t = s.first_position() + i / args.problem.kv_heads, now = t / g.sel_block;
      const std::vector<double> scores = block_scores(args, s, row, group, t);
      std::vector<std::int32_t> picks{0}, others;
      for (const std::int64_t forced : {now - 1, now})
        if (forced > 0) picks.push_back(static_cast<std::int32_t>(forced));
      for (std::int32_t j = 1; j < static_cast<std::int32_t>(scores.size()); ++j)
        if (j < now - 1) others.push_back(j);
      if (!kLowerFirst) std::reverse(others.begin(), others.end());
      std::stable_sort(others.begin(), others.end(), [&](std::int32_t a, std::int32_t b) {
        return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
      });
      const std::size_t room = static_cast<std::size_t>(g.sel_count) - picks.size();
      picks.insert(picks.end(), others.begin(),
                   others.begin() + static_cast<std::ptrdiff_t>(std::min(room, others.size())));
      picks.resize(static_cast<std::size_t>(g.sel_count), -1);
      std::sort(picks.begin(), picks.end());
      std::copy(picks.begin(), picks.end(), out.as<std::int32_t>() + out.at(row, group));
    }
  }
}

void range_one_too_long(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::ranges, "ranges_v2");
  const TensorView& ranges = args.out[0];
  for (std::int64_t row = 0; row < ranges.shape[0]; ++row)
    ++ranges.as<std::int32_t>()[ranges.at(row, 0, 0, 1)];
}

void mean_without_its_division(const LaunchArgs& args) {
  ChangedLaunch(args).run(Stage::compress, "avg");
  scale(output_of(args, "v_cmp"), static_cast<double>(args.problem.geometry.cmp_block));
}

void compressed_from_one_later(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const TensorView k = launch.copy_input("k_cmp_raw");
  std::rotate(k.as<float>(), k.as<float>() + k.stride[0], k.as<float>() + k.elements());
  launch.run(Stage::compress, "avg");
}

void gates_swapped(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  std::swap(launch.input("o_cmp"), launch.input("o_sel"));
  launch.run(Stage::gate_combine, "gate_fused");
}

void rope_from_zero(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  for (std::size_t b = 0; b < launch.sequences.size(); ++b) {
    launch.problem.context_lens[b] = 0;
    launch.sequences[b].kv_len = launch.sequences[b].q_len;
  }
  launch.run(Stage::project_rope, "gemm");
}

void weights_transposed(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const TensorView w = launch.copy_input("w_o");  // [model_dim, q_heads * head_dim_v], square here
  for (std::int64_t i = 0; i < w.shape[0]; ++i) {
    for (std::int64_t j = 0; j < i; ++j)
      std::swap(w.as<float>()[w.at(i, j)], w.as<float>()[w.at(j, i)]);
  }
  launch.run(Stage::out_proj, "gemm");
}

void window_branch_left_out(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const TensorView v_win = launch.copy_input("v_win");
  scale(v_win, 0);
  launch.run(Stage::attention, "batched");
}

Problem chunked_problem() {
  Problem p = ragged_problem();
  p.phase = Phase::chunked_prefill;
  p.seq_lens = {20, 33};
  p.context_lens = {40, 7};
  return p;
}

}  // namespace

void written_out_score(const LaunchArgs& args) { select<true>(args); }

std::span<const Mutant> stage_mutants() {
  static constexpr std::array kMutants{
      Mutant{"scores of the first head of a group", Stage::score, "streamed",
             only_the_first_head_of_a_group, ragged_problem},
      Mutant{"a block in the future", Stage::score, "streamed", block_of_the_future,
             ragged_problem},
      Mutant{"a forced block forgotten", Stage::score, "streamed", forced_block_forgotten,
             ragged_problem},
      Mutant{"a dropped tie rule", Stage::score, "streamed", select<false>, ragged_problem},
      Mutant{"a range one token too long", Stage::ranges, "ranges_v2", range_one_too_long,
             ragged_problem},
      Mutant{"a mean without its division", Stage::compress, "avg", mean_without_its_division,
             ragged_problem},
      Mutant{"compression from one token later", Stage::compress, "avg", compressed_from_one_later,
             ragged_problem},
      Mutant{"gates in another order", Stage::gate_combine, "gate_fused", gates_swapped,
             ragged_problem},
      Mutant{"RoPE with the wrong position", Stage::project_rope, "gemm", rope_from_zero,
             chunked_problem},
      Mutant{"weights transposed", Stage::out_proj, "gemm", weights_transposed, ragged_problem},
      Mutant{"the window branch left out", Stage::attention, "batched", window_branch_left_out,
             ragged_problem},
  };
  return kMutants;
}

}  // namespace nsa::test
