// From logits to the gradient of logits, for rows whose log-sum-exp is known.
#pragma once

#include <cstdint>

namespace nsa::cpu {

/// What is known of each row: its log-sum-exp in units of log 2 (+inf where it sees no key, so that
/// all of its probabilities are 0), and d_o . o.
template <class T>
struct GradientRows {
  std::int64_t rows;
  const T* lse;    // [rows]
  const T* delta;  // [rows]
};

/// scores[rows, cols] at distance ld become p = 2^(score - lse), d_p becomes p (d_p - delta).
/// masks: [rows] bit c = key c is allowed, or null: all are; both are 0 where it is not. The bit of
/// column 0 is bit `first_bit`. cols is a multiple of kPad, at most 64.
void softmax_gradient(const GradientRows<float>& rows, float* scores, float* d_p, std::int64_t ld,
                      std::int64_t cols, const std::uint64_t* masks, int first_bit);
void softmax_gradient(const GradientRows<double>& rows, double* scores, double* d_p,
                      std::int64_t ld, std::int64_t cols, const std::uint64_t* masks,
                      int first_bit);

}  // namespace nsa::cpu
