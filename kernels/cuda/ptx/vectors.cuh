// Several numbers with one memory access, as fp32.
#pragma once

#include "cuda/ptx/numbers.cuh"

namespace nsa::cuda {

/// Numbers of T in the widest access, 16 bytes.
template <class T>
inline constexpr int kVectorOf = 16 / static_cast<int>(sizeof(T));

template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Vector {
  T values[kCount];
};

/// kCount numbers from an address that is a multiple of their size.
template <int kCount, class T>
__device__ void load_vector(const T* from, float (&to)[kCount]) {
  const auto vector = *reinterpret_cast<const Vector<T, kCount>*>(from);
#pragma unroll
  for (int i = 0; i < kCount; ++i) to[i] = to_float(vector.values[i]);
}

template <int kCount, class T>
__device__ void store_vector(T* to, const float (&from)[kCount]) {
  if constexpr (sizeof(T) == 2 && kCount % 2 == 0) {
    Vector<std::uint32_t, kCount / 2> pairs;
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i)
      pairs.values[i] = pack_pair<T>(from[2 * i], from[2 * i + 1]);
    *reinterpret_cast<Vector<std::uint32_t, kCount / 2>*>(to) = pairs;
  } else {
    Vector<T, kCount> vector;
#pragma unroll
    for (int i = 0; i < kCount; ++i) vector.values[i] = from_float<T>(from[i]);
    *reinterpret_cast<Vector<T, kCount>*>(to) = vector;
  }
}

/// The bits of kCount numbers of T, to be held in registers until they are wanted: a Vector of
/// 16-bit numbers would take a register for each.
template <int kBytes>
struct Bits;
template <>
struct Bits<2> {
  using Type = std::uint16_t;
};
template <>
struct Bits<4> {
  using Type = std::uint32_t;
};
template <>
struct Bits<8> {
  using Type = uint2;
};
template <>
struct Bits<16> {
  using Type = uint4;
};
template <class T, int kCount>
using BitsOf = typename Bits<static_cast<int>(sizeof(T)) * kCount>::Type;

template <class T, int kCount>
__device__ void unpack(const BitsOf<T, kCount>& bits, float (&to)[kCount]) {
  const auto* numbers = reinterpret_cast<const T*>(&bits);
#pragma unroll
  for (int i = 0; i < kCount; ++i) to[i] = to_float(numbers[i]);
}

/// Calls f(std::integral_constant<int, n>) with the numbers of T to move at a time: those of 16
/// bytes, or one where rows are not aligned for it.
template <class T, class F>
void with_vector_width(bool aligned, F f) {
  if (aligned) return f(std::integral_constant<int, kVectorOf<T>>{});
  return f(std::integral_constant<int, 1>{});
}

}  // namespace nsa::cuda
