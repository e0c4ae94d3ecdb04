#include "cpu/convert.hpp"

#include <algorithm>
#include <array>

#include "cpu/simd/half_rows.hpp"

namespace nsa {
namespace {

constexpr std::int64_t kPiece = 512;  // numbers of fp64 that pass through fp32 at a time

void widen(Dtype from, const std::uint16_t* in, std::int64_t count, float* out) {
  (from == Dtype::bf16 ? cpu::widen_bf16 : cpu::widen_fp16)(in, count, out);
}
void widen(Dtype from, const std::uint16_t* in, std::int64_t count, double* out) {
  std::array<float, kPiece> piece;
  for (std::int64_t i = 0; i < count; i += kPiece) {
    const std::int64_t n = std::min(kPiece, count - i);
    widen(from, in + i, n, piece.data());
    std::copy_n(piece.data(), n, out + i);
  }
}
void narrow(Dtype to, const float* in, std::int64_t count, std::uint16_t* out) {
  (to == Dtype::bf16 ? cpu::narrow_to_bf16 : cpu::narrow_to_fp16)(in, count, out);
}
void narrow(Dtype to, const double* in, std::int64_t count, std::uint16_t* out) {
  std::array<float, kPiece> piece;
  for (std::int64_t i = 0; i < count; i += kPiece) {
    const std::int64_t n = std::min(kPiece, count - i);
    cpu::round_to_odd(in + i, n, piece.data());
    narrow(to, piece.data(), n, out + i);
  }
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
