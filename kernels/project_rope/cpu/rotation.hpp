// RoPE on the CPU: what the forward and the backward pass of the projections share.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "nsa/kernels/launch.hpp"

namespace nsa::project_rope {

/// Radians per position, [head_dim_k / 2].
inline std::span<const double> frequencies(const LaunchArgs& args) {
  const auto pairs = args.workspace.take<double>(args.problem.head_dim_k / 2);
  const double dim = static_cast<double>(args.problem.head_dim_k);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i] = std::pow(args.options.rope_base, -2.0 * static_cast<double>(i) / dim) /
               args.options.rope_scale;
  }
  return pairs;
}

/// Absolute position of a packed token; sequences stand in the order of their rows.
inline std::int64_t position_of(std::span<const Sequence> sequences, std::int64_t token) {
  const auto after =
      std::upper_bound(sequences.begin(), sequences.end(), token,
                       [](std::int64_t row, const Sequence& s) { return row < s.q_begin; });
  const Sequence& s = *(after - 1);
  return s.first_position() + token - s.q_begin;
}

/// Angles are computed in fp64 whatever the storage: fp32 loses 4e-3 rad at position 65,536.
template <class T>
struct Rotation {
  std::span<const double> frequencies;  // [head_dim_k / 2]
  std::span<T> cosine, sine;            // [head_dim_k / 2] of one position

  /// `table`: [2, head_dim_k / 2], the thread's own.
  Rotation(std::span<const double> angles, std::span<T> table)
      : frequencies(angles), cosine(table.first(angles.size())), sine(table.last(angles.size())) {}

  void set_position(std::int64_t position) const {
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      const double angle = static_cast<double>(position) * frequencies[i];
      cosine[i] = static_cast<T>(std::cos(angle));
      sine[i] = static_cast<T>(std::sin(angle));
    }
  }
  /// `head`: [head_dim_k], in place.
  void turn(T* head) const {
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      const T x0 = head[2 * i], x1 = head[2 * i + 1];
      head[2 * i] = x0 * cosine[i] - x1 * sine[i];
      head[2 * i + 1] = x0 * sine[i] + x1 * cosine[i];
    }
  }
  /// The same by the opposite angle.
  void turn_back(T* head) const {
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      const T x0 = head[2 * i], x1 = head[2 * i + 1];
      head[2 * i] = x0 * cosine[i] + x1 * sine[i];
      head[2 * i + 1] = x1 * cosine[i] - x0 * sine[i];
    }
  }
};

}  // namespace nsa::project_rope
