// An online softmax over tiles of keys, written out, so that its steps can be left out.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "changed_launch.hpp"
#include "mutant.hpp"

namespace nsa::test {
namespace {

constexpr std::int64_t kTile = 8;

enum class Fault {
  none,
  sums_in_bf16,
  no_rescale,
  no_rescale_of_the_sum,
  last_tile_dropped,
  sees_the_next
};

double rounded(double value, Fault fault) {
  return fault == Fault::sums_in_bf16 ? to_bf16(value) : value;
}

double logit(const LaunchArgs& args, std::int64_t row, std::int64_t head, std::int64_t key) {
  const TensorView &q = args.in[0], &k = args.in[1];
  const std::int64_t group = head / args.problem.heads_per_group();
  double sum = 0;
  for (std::int64_t c = 0; c < q.shape[2]; ++c)
    sum += get(q, q.at(row, head, c)) * get(k, k.at(key, group, c));
  return sum / std::sqrt(static_cast<double>(q.shape[2]));
}

/// Output of one head over keys [first, last).
void attend(const LaunchArgs& args, std::int64_t row, std::int64_t head, std::int64_t first,
            std::int64_t last, Fault fault) {
  const TensorView &v = args.in[2], &o = args.out[0];
  const std::int64_t group = head / args.problem.heads_per_group();
  std::vector<double> acc(static_cast<std::size_t>(v.shape[2]), 0.0);
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  if (fault == Fault::last_tile_dropped && last - first > kTile) last -= (last - first) % kTile;
  for (std::int64_t tile = first; tile < last; tile += kTile) {
    const std::int64_t end = std::min(tile + kTile, last);
    double next = largest;
    for (std::int64_t key = tile; key < end; ++key)
      next = std::max(next, logit(args, row, head, key));
    const double factor = std::exp(largest - next);
    largest = next;
    if (fault != Fault::no_rescale && fault != Fault::no_rescale_of_the_sum) sum *= factor;
    if (fault != Fault::no_rescale)
      for (double& x : acc) x *= factor;
    for (std::int64_t key = tile; key < end; ++key) {
      const double weight = std::exp(logit(args, row, head, key) - largest);
      sum = rounded(sum + weight, fault);
      for (std::size_t c = 0; c < acc.size(); ++c) {
        const double value = get(v, v.at(key, group, static_cast<std::int64_t>(c)));
        acc[c] = rounded(acc[c] + weight * value, fault);
      }
    }
  }
  for (std::size_t c = 0; c < acc.size(); ++c)
    put(o, o.at(row, head, static_cast<std::int64_t>(c)), acc[c] / sum);
}

template <Fault kFault>
void window(const LaunchArgs& args) {
  for (const Sequence& s : args.sequences) {
    for (std::int64_t i = 0; i < s.q_len; ++i) {
      const std::int64_t t = s.first_position() + i;
      const std::int64_t first = std::max<std::int64_t>(0, t - args.problem.geometry.window + 1);
      const std::int64_t end = std::min(s.kv_len, t + (kFault == Fault::sees_the_next ? 2 : 1));
      for (std::int64_t head = 0; head < args.problem.q_heads; ++head)
        attend(args, s.q_begin + i, head, s.kv_begin + first, s.kv_begin + end, kFault);
    }
  }
}

Problem wide_bf16_problem() {
  Problem p = ragged_problem();
  p.dtype = Dtype::bf16;
  p.geometry.window = 64;
  return p;
}

}  // namespace

std::span<const Mutant> arithmetic_mutants() {
  constexpr Stage kStage = Stage::attend_window;
  static constexpr std::array kMutants{
      Mutant{"sums in bf16", kStage, "sdpa_math", window<Fault::sums_in_bf16>, wide_bf16_problem},
      Mutant{"a missing rescale", kStage, "sdpa_math", window<Fault::no_rescale>, ragged_problem},
      Mutant{"a missing rescale of the sum", kStage, "sdpa_math",
             window<Fault::no_rescale_of_the_sum>, wide_bf16_problem},
      Mutant{"the last partial tile dropped", kStage, "sdpa_math", window<Fault::last_tile_dropped>,
             ragged_problem},
      Mutant{"a token of the future", kStage, "sdpa_math", window<Fault::sees_the_next>,
             ragged_problem},
  };
  return kMutants;
}

void written_out_window(const LaunchArgs& args) { window<Fault::none>(args); }

}  // namespace nsa::test
