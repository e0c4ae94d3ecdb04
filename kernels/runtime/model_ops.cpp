#include "model_ops.hpp"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "cpu/accumulator.hpp"
#include "cpu/convert.hpp"
#include "nsa/kernels/parallel.hpp"

namespace nsa {
namespace {

constexpr std::int64_t kRowsPerPiece = 16;
constexpr double kNormEpsilon = 1e-6;

/// Calls body(row, T* values) with row-sized scratch for every row of `x`, in parallel.
template <class T, class Body>
void for_rows(const TensorView& x, const Body& body) {
  const std::int64_t columns = x.shape[1];
  parallel_for(0, x.shape[0], kRowsPerPiece, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> values(static_cast<std::size_t>(columns));
    for (std::int64_t r = begin; r < end; ++r) {
      load_row(x, x.at(r), columns, values.data());
      body(r, values);
    }
  });
}

}  // namespace

void rms_norm(const TensorView& x, const TensorView& weight, const TensorView& y) {
  with_accumulator(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t columns = x.shape[1];
    std::vector<T> scale(static_cast<std::size_t>(columns));
    load_row(weight, 0, columns, scale.data());
    for_rows<T>(x, [&](std::int64_t r, std::vector<T>& v) {
      T sum = 0;
      for (const T e : v) sum += e * e;
      const T inverse = T(1) / std::sqrt(sum / static_cast<T>(columns) + T(kNormEpsilon));
      for (std::size_t i = 0; i < v.size(); ++i) v[i] *= inverse * scale[i];
      store_row(y, y.at(r), columns, v.data());
    });
  });
}

void add_rows(const TensorView& x, const TensorView& delta) {
  with_accumulator(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_rows<T>(x, [&](std::int64_t r, std::vector<T>& v) {
      std::vector<T> d(v.size());
      load_row(delta, delta.at(r), delta.shape[1], d.data());
      for (std::size_t i = 0; i < v.size(); ++i) v[i] += d[i];
      store_row(x, x.at(r), x.shape[1], v.data());
    });
  });
}

void silu_rows(const TensorView& x) {
  with_accumulator(x.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_rows<T>(x, [&](std::int64_t r, std::vector<T>& v) {
      for (T& e : v) e = e / (T(1) + std::exp(-e));
      store_row(x, x.at(r), x.shape[1], v.data());
    });
  });
}

void embed(const TensorView& tokens, const TensorView& table, const TensorView& y) {
  const auto element = static_cast<std::int64_t>(size_of(table.dtype));
  for (std::int64_t r = 0; r < tokens.shape[0]; ++r) {
    const std::int64_t token = tokens.as<std::int32_t>()[tokens.at(r)];
    if (token < 0 || token >= table.shape[0]) {
      throw InputError("tokens: " + std::to_string(token) + " at " + std::to_string(r) +
                       " is not in a vocabulary of " + std::to_string(table.shape[0]));
    }
    std::memcpy(y.as<char>() + y.at(r) * element, table.as<char>() + table.at(token) * element,
                static_cast<std::size_t>(table.shape[1] * element));
  }
}

}  // namespace nsa
