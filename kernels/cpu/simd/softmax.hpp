// Softmax of score rows, with scores in units of log 2 (q is scaled by log2(e) / sqrt(Dk) before).
// Accumulates in the type of the scores; exp is a polynomial. NaN in a row stays in that row.
#pragma once

#include <cstdint>

namespace nsa::cpu {

inline constexpr double kLog2E = 1.4426950408889634;
inline constexpr double kLn2 = 0.6931471805599453;

/// Maximum and sum of a softmax; (-inf, 0) where no key is allowed.
template <class T>
struct RowSums {
  T max, sum;
};

/// scores[0, cols) becomes 2^(score - max), unnormalised; a score of -inf becomes 0.
/// cols is a multiple of kPad.
RowSums<float> softmax_row(float* scores, std::int64_t cols);
RowSums<double> softmax_row(double* scores, std::int64_t cols);

/// State of an online softmax over panels of keys, for `rows` rows.
template <class T>
struct OnlineRows {
  std::int64_t rows;
  T* max;  // [rows], -inf at first
  T* sum;  // [rows], 0 at first
  T* out;  // [rows, out_cols] at distance ld_out, 0 at first: rescaled here
  std::int64_t ld_out;
  std::int64_t out_cols;  // multiple of kPad
};

/// One step: scores[rows, cols] at distance ld become 2^(score - new max), and sum and out are
/// rescaled to the new maximum. masks: [rows] bit c = key c is allowed, or null: all are. The bit
/// of column 0 is bit `first_bit`. cols is a multiple of kPad, at most 64.
void online_softmax(const OnlineRows<float>& state, float* scores, std::int64_t ld,
                    std::int64_t cols, const std::uint64_t* masks, int first_bit);
void online_softmax(const OnlineRows<double>& state, double* scores, std::int64_t ld,
                    std::int64_t cols, const std::uint64_t* masks, int first_bit);

/// x[0, n) *= factor, n a multiple of kPad.
void scale_row(float* x, std::int64_t n, float factor);
void scale_row(double* x, std::int64_t n, double factor);

}  // namespace nsa::cpu
