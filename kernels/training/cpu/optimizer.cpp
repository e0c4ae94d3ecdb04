#include <algorithm>
#include <cmath>

#include "training/cpu/ops.hpp"
#include "training/cpu/rows.hpp"
#include "training/masters.hpp"

namespace nsa::training::cpu {
namespace {

constexpr std::int64_t kPiece = 4096;          // parameters in cache at a time
constexpr std::int64_t kPerSum = 16 * kPiece;  // added up on their own, whatever the threads

template <class T>
double squares(const TensorView& x, std::int64_t begin, std::int64_t end) {
  T values[kPiece];
  double sum = 0;
  for (std::int64_t from = begin; from < end; from += kPiece) {
    const std::int64_t count = std::min(kPiece, end - from);
    load_row(x, from, count, values);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(values[i]);
      sum += value * value;
    }
  }
  return sum;
}

/// What all parameters of a step share.
template <class T>
struct Factors {
  T clip, beta1, beta2, decay, rate, root_correction2, epsilon;
};

template <class T>
Factors<T> factors_of(const AdamW& o, const StepScalars& s) {
  return {.clip = static_cast<T>(s.clip),
          .beta1 = static_cast<T>(o.beta1),
          .beta2 = static_cast<T>(o.beta2),
          .decay = static_cast<T>(1 - s.inputs.rate * o.weight_decay),
          .rate = static_cast<T>(s.inputs.rate / s.inputs.correction1),
          .root_correction2 = static_cast<T>(std::sqrt(s.inputs.correction2)),
          .epsilon = static_cast<T>(o.epsilon)};
}

template <class T>
void update(const Factors<T>& f, std::int64_t count, const T* g, T* m, T* v, T* w) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T gradient = f.clip * g[i];
    m[i] = f.beta1 * m[i] + (T(1) - f.beta1) * gradient;
    v[i] = f.beta2 * v[i] + (T(1) - f.beta2) * gradient * gradient;
    w[i] = f.decay * w[i] - f.rate * m[i] / (std::sqrt(v[i]) / f.root_correction2 + f.epsilon);
  }
}

/// What moves of `count` parameters, before and after the step.
template <class T>
void load_moving(const OptimizerTensors& t, std::int64_t from, std::int64_t count, T* w) {
  if constexpr (std::is_same_v<T, float>) {
    if (t.low_halves)
      return join_masters(t.weights.as<const std::uint16_t>() + from, t.low_halves + from, count,
                          w);
  }
  load_row(t.masters ? t.masters : t.weights, from, count, w);
}
template <class T>
void store_moved(const OptimizerTensors& t, std::int64_t from, std::int64_t count, const T* w) {
  if constexpr (std::is_same_v<T, float>) {
    if (t.low_halves)
      return split_masters(w, count, t.weights.as<std::uint16_t>() + from, t.low_halves + from);
  }
  if (t.masters) store_row(t.masters, from, count, w);
  store_row(t.weights, from, count, w);
}

template <class T>
void update_piece(const OptimizerTensors& t, const Factors<T>& f, std::int64_t from,
                  std::int64_t count) {
  T g[kPiece], m[kPiece], v[kPiece], w[kPiece];
  load_row(t.gradients, from, count, g);
  load_row(t.moment1, from, count, m);
  load_row(t.moment2, from, count, v);
  load_moving(t, from, count, w);
  update(f, count, g, m, v, w);
  store_row(t.moment1, from, count, m);
  store_row(t.moment2, from, count, v);
  store_moved(t, from, count, w);
}

}  // namespace

void clip(const TensorView& gradients, double max_norm, StepScalars& scalars,
          Workspace& workspace) {
  const WorkspaceScope scope(workspace);
  const std::int64_t count = gradients.shape[0], pieces = (count + kPerSum - 1) / kPerSum;
  const std::span<double> sums = workspace.take<double>(pieces);
  with_accumulator(gradients.dtype, [&](auto zero) {
    parallel_for(0, pieces, 1, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t piece = from; piece < to; ++piece)
        sums[static_cast<std::size_t>(piece)] = squares<decltype(zero)>(
            gradients, piece * kPerSum, std::min(count, (piece + 1) * kPerSum));
    });
  });
  double sum = 0;
  for (const double one : sums) sum += one;
  scalars.grad_norm = std::sqrt(sum);
  // As torch.nn.utils.clip_grad_norm_ has it.
  scalars.clip = max_norm > 0 ? std::min(1.0, max_norm / (scalars.grad_norm + 1e-6)) : 1.0;
  const bool good = std::isfinite(scalars.loss) && std::isfinite(scalars.grad_norm);
  if (!good && scalars.bad_step == 0) scalars.bad_step = scalars.inputs.step + 1;
}

void adamw(const OptimizerTensors& t, const AdamW& options, const StepScalars& scalars) {
  if (scalars.bad_step != 0) return;
  const std::int64_t count = t.weights.shape[0];
  with_accumulator(t.gradients.dtype, [&](auto zero) {
    const auto factors = factors_of<decltype(zero)>(options, scalars);
    parallel_for(0, (count + kPiece - 1) / kPiece, 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t piece = begin; piece < end; ++piece)
        update_piece(t, factors, piece * kPiece, std::min(kPiece, count - piece * kPiece));
    });
  });
}

}  // namespace nsa::training::cpu
