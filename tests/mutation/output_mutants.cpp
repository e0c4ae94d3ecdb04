#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "changed_launch.hpp"
#include "mutant.hpp"

namespace nsa::test {
namespace {

constexpr Stage kSelected = Stage::attend_selected, kWindow = Stage::attend_window;

void run_right(const LaunchArgs& args) { ChangedLaunch(args).run(kSelected, "masked"); }

std::size_t row_bytes(const TensorView& view) {
  return static_cast<std::size_t>(view.stride[0]) * size_of(view.dtype);
}
std::byte* row_of(const TensorView& view, std::int64_t row) {
  return view.as<std::byte>() + static_cast<std::size_t>(row) * row_bytes(view);
}

void one_nan(const LaunchArgs& args) {
  run_right(args);
  put(args.out[0], args.out[0].elements() - 1, std::numeric_limits<double>::quiet_NaN());
}

void one_infinity(const LaunchArgs& args) {
  run_right(args);
  put(args.out[0], args.out[0].at(101), std::numeric_limits<double>::infinity());
}

/// Leaves bytes [begin, begin + count) of the output as they were before the launch.
void leave(const LaunchArgs& args, std::byte* begin, std::size_t count) {
  const std::vector<std::byte> before(begin, begin + count);
  run_right(args);
  std::copy(before.begin(), before.end(), begin);
}

void untouched_row(const LaunchArgs& args) {
  leave(args, row_of(args.out[0], 101), row_bytes(args.out[0]));
}

void untouched_element(const LaunchArgs& args) {
  leave(args, row_of(args.out[0], 101), size_of(args.out[0].dtype));
}

void rows_swapped_between_sequences(const LaunchArgs& args) {
  run_right(args);
  const TensorView& o = args.out[0];
  std::byte* first = row_of(o, args.sequences.front().q_begin + 30);
  std::swap_ranges(first, first + row_bytes(o), row_of(o, args.sequences.back().q_begin + 30));
}

/// Head-major where it should be token-major; every element is written once.
void wrong_stride(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  TensorView& o = launch.out[0];
  o.stride = {o.shape[2], o.shape[0] * o.shape[2], 1, 0};
  launch.run(kSelected, "masked");
}

/// Adds what is in memory that nobody has written. So much is taken that the system gives fresh
/// pages, which hold zeros: only a poisoned workspace shows it.
void workspace_taken_for_zero(const LaunchArgs& args) {
  constexpr std::int64_t kMuch = std::int64_t{1} << 24;  // 64 MiB
  const float sum = args.workspace.take<float>(kMuch)[kMuch / 2];
  run_right(args);
  put(args.out[0], 0, get(args.out[0], 0) + sum);
}

/// Computes from the values that the launch before left in the workspace: the same ones, as a rule.
void stale_workspace(const LaunchArgs& args) {
  ChangedLaunch launch(args);
  TensorView& stale = launch.input("v_sel");
  const TensorView fresh = stale;
  stale.data = args.workspace.take(fresh.bytes());
  launch.run(kSelected, "masked");
  std::memcpy(stale.data, fresh.data, fresh.bytes());
}

int g_launches = 0;

template <int kParity>
void wrong_every_other_launch(const LaunchArgs& args) {
  run_right(args);
  if (++g_launches % 2 == kParity) scale(args.out[0], 1.01, 101);
}

void right_where_asked(const LaunchArgs& args) {
  run_right(args);
  const auto& asked = asked_rows();
  for (std::int64_t row = 0; row < args.out[0].shape[0]; ++row) {
    if (!std::binary_search(asked.begin(), asked.end(), row)) scale(args.out[0], 1.01, row);
  }
}

/// The same with one wrong row only.
void wrong_where_not_asked(const LaunchArgs& args) {
  run_right(args);
  const auto& asked = asked_rows();
  std::int64_t row = 101;
  while (std::binary_search(asked.begin(), asked.end(), row)) ++row;
  scale(args.out[0], 1.01, row);
}

Problem long_problem() {
  Problem p;
  p.seq_lens = {65536};
  p.q_heads = p.kv_heads = 1;
  p.head_dim_k = p.head_dim_v = 4;
  p.geometry = {4, 2, 8, 4, 6};
  return p;
}

void one_row_of_65536(const LaunchArgs& args) {
  ChangedLaunch(args).run(kWindow, "fa2_varlen");
  scale(args.out[0], 1.001, 51357);
}

}  // namespace

std::vector<std::int64_t>& asked_rows() {
  static std::vector<std::int64_t> rows;
  return rows;
}

std::span<const Mutant> output_mutants() {
  static constexpr std::array kMutants{
      Mutant{"one NaN", kSelected, "masked", one_nan, ragged_problem},
      Mutant{"one infinity", kSelected, "masked", one_infinity, ragged_problem},
      Mutant{"an untouched row", kSelected, "masked", untouched_row, ragged_problem},
      Mutant{"an untouched element", kSelected, "masked", untouched_element, ragged_problem},
      Mutant{"rows swapped between sequences", kSelected, "masked", rows_swapped_between_sequences,
             ragged_problem},
      Mutant{"the wrong stride", kSelected, "masked", wrong_stride, ragged_problem},
      Mutant{"a workspace taken for zero", kSelected, "masked", workspace_taken_for_zero,
             ragged_problem},
      Mutant{"a stale workspace", kSelected, "masked", stale_workspace, ragged_problem},
      Mutant{"a row wrong in every odd launch", kSelected, "masked", wrong_every_other_launch<1>,
             ragged_problem},
      Mutant{"a row wrong in every even launch", kSelected, "masked", wrong_every_other_launch<0>,
             ragged_problem},
      Mutant{"right only where the parent looks", kSelected, "masked", right_where_asked,
             ragged_problem},
      Mutant{"one wrong row where the parent does not look", kSelected, "masked",
             wrong_where_not_asked, ragged_problem},
      Mutant{"one wrong row in 65,536", kWindow, "fa2_varlen", one_row_of_65536, long_problem},
  };
  return kMutants;
}

}  // namespace nsa::test
