#include <algorithm>
#include <array>
#include <cmath>

#include "changed_launch.hpp"
#include "mutant.hpp"

namespace nsa::test {
namespace {

constexpr Stage kSelected = Stage::attend_selected, kWindow = Stage::attend_window;

/// Calls edit(range [2] int32) for every used range of every row and group.
template <class Edit>
void edit_ranges(ChangedLaunch& launch, Edit edit) {
  const TensorView ranges = launch.copy_input("ranges");  // [tokens, kv_heads, sel_count, 2] int32
  for (std::int64_t row = 0; row < ranges.shape[0]; ++row) {
    for (std::int64_t g = 0; g < ranges.shape[1]; ++g) {
      for (std::int64_t r = 0; r < ranges.shape[2]; ++r) {
        auto* range = ranges.as<std::int32_t>() + ranges.at(row, g, r);
        if (range[0] < range[1]) edit(range);
      }
    }
  }
}

void shifted_block(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const auto block = static_cast<std::int32_t>(args.problem.geometry.sel_block);
  edit_ranges(launch, [&](std::int32_t* range) {
    if (range[0] < block) return;
    range[0] -= block;
    range[1] -= block;
  });
  launch.run(kSelected, "masked");
}

void last_partial_block_dropped(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const auto block = static_cast<std::int32_t>(args.problem.geometry.sel_block);
  edit_ranges(launch, [&](std::int32_t* range) { range[1] -= (range[1] - range[0]) % block; });
  launch.run(kSelected, "masked");
}

void scale_forgotten(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  scale(launch.copy_input("q"), std::sqrt(static_cast<double>(args.problem.head_dim_k)));
  launch.run(kSelected, "masked");
}

void wrong_sign_of_one_head(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  scale(launch.copy_input("q"), -1, -1, args.problem.q_heads - 1);
  launch.run(kSelected, "masked");
}

void keys_of_the_other_group(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const TensorView k = launch.copy_input("k_sel");
  for (std::int64_t row = 0; row < k.shape[0]; ++row) {
    float* heads = k.as<float>() + k.at(row);
    std::swap_ranges(heads, heads + k.shape[2], heads + k.stride[1]);
  }
  launch.run(kSelected, "masked");
}

void keys_of_another_sequence(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  launch.sequences.back().kv_begin = 0;  // as if cu_seqlens were forgotten
  launch.run(kSelected, "fused_query");
}

void window_one_too_wide(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  ++launch.problem.geometry.window;
  launch.run(kWindow, "sdpa_math");
}

void window_one_too_narrow(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  --launch.problem.geometry.window;
  launch.run(kWindow, "fa2_varlen");
}

void compressed_values_shifted(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  const TensorView v = launch.copy_input("v_cmp");  // [compressed_tokens, kv_heads, head_dim_v]
  float* data = v.as<float>();
  std::rotate(data, data + v.stride[0], data + v.elements());
  launch.run(Stage::attend_compressed, "fa2_dense");
}

}  // namespace

std::span<const Mutant> attention_mutants() {
  static constexpr std::array kMutants{
      Mutant{"a shifted block", kSelected, "masked", shifted_block, ragged_problem},
      Mutant{"the last partial block dropped", kSelected, "masked", last_partial_block_dropped,
             ragged_problem},
      Mutant{"a forgotten scale", kSelected, "masked", scale_forgotten, ragged_problem},
      Mutant{"a sign in one head", kSelected, "masked", wrong_sign_of_one_head, ragged_problem},
      Mutant{"the other group's K", kSelected, "masked", keys_of_the_other_group, ragged_problem},
      Mutant{"K and V of another sequence", kSelected, "fused_query", keys_of_another_sequence,
             ragged_problem},
      Mutant{"a window one too wide", kWindow, "sdpa_math", window_one_too_wide, ragged_problem},
      Mutant{"a window one too narrow", kWindow, "fa2_varlen", window_one_too_narrow,
             ragged_problem},
      Mutant{"compressed values shifted by one", Stage::attend_compressed, "fa2_dense",
             compressed_values_shifted, ragged_problem},
  };
  return kMutants;
}

}  // namespace nsa::test
