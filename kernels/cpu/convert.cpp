#include "cpu/convert.hpp"

#include <algorithm>
#include <bit>

#include "cpu/half.hpp"
#include "cpu/simd/half_rows.hpp"

namespace nsa {
namespace {

/// To fp32 with the last bit sticky (round to odd), so that rounding again to 16 bits is exact.
float to_odd_float(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  if ((bits & 1u) != 0) return nearest;
  const bool above = nearest > value;
  const bool negative = std::bit_cast<std::int32_t>(nearest) < 0;
  return std::bit_cast<float>(above == negative ? bits + 1u : bits - 1u);
}

// fp32 goes by the vector; fp64 beside 16-bit storage is for references and may be slow.
void widen(Dtype from, const std::uint16_t* in, std::int64_t count, float* out) {
  (from == Dtype::bf16 ? cpu::widen_bf16 : cpu::widen_fp16)(in, count, out);
}
void widen(Dtype from, const std::uint16_t* in, std::int64_t count, double* out) {
  std::transform(in, in + count, out, from == Dtype::bf16 ? bf16_to_float : fp16_to_float);
}
void narrow(Dtype to, const float* in, std::int64_t count, std::uint16_t* out) {
  (to == Dtype::bf16 ? cpu::narrow_to_bf16 : cpu::narrow_to_fp16)(in, count, out);
}
void narrow(Dtype to, const double* in, std::int64_t count, std::uint16_t* out) {
  const auto one = to == Dtype::bf16 ? float_to_bf16 : float_to_fp16;
  std::transform(in, in + count, out, [one](double x) { return one(to_odd_float(x)); });
}

template <class T>
void load(const TensorView& view, std::int64_t offset, std::int64_t count, T* out) {
  switch (view.dtype) {
    case Dtype::fp64:
      std::transform(view.as<const double>() + offset, view.as<const double>() + offset + count,
                     out, [](double x) { return static_cast<T>(x); });
      return;
    case Dtype::fp32:
      std::copy_n(view.as<const float>() + offset, count, out);
      return;
    case Dtype::bf16:
    case Dtype::fp16:
      widen(view.dtype, view.as<const std::uint16_t>() + offset, count, out);
      return;
    case Dtype::int32:
      break;
  }
  throw ContractError("expected: a tensor of floating-point numbers");
}

template <class T>
void store(const TensorView& view, std::int64_t offset, std::int64_t count, const T* in) {
  switch (view.dtype) {
    case Dtype::fp64:
      std::copy_n(in, count, view.as<double>() + offset);
      return;
    case Dtype::fp32:
      std::transform(in, in + count, view.as<float>() + offset,
                     [](T x) { return static_cast<float>(x); });
      return;
    case Dtype::bf16:
    case Dtype::fp16:
      narrow(view.dtype, in, count, view.as<std::uint16_t>() + offset);
      return;
    case Dtype::int32:
      break;
  }
  throw ContractError("expected: a tensor of floating-point numbers");
}

}  // namespace

void load_row(const TensorView& view, std::int64_t offset, std::int64_t count, float* out) {
  load(view, offset, count, out);
}
void load_row(const TensorView& view, std::int64_t offset, std::int64_t count, double* out) {
  load(view, offset, count, out);
}
void store_row(const TensorView& view, std::int64_t offset, std::int64_t count, const float* in) {
  store(view, offset, count, in);
}
void store_row(const TensorView& view, std::int64_t offset, std::int64_t count, const double* in) {
  store(view, offset, count, in);
}

}  // namespace nsa
