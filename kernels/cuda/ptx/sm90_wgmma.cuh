// Warpgroup matrix instructions of Hopper (sm_90a): PTX ISA, "Asynchronous Warpgroup Level Matrix
// Multiply-Accumulate Instructions". The two forms that attention needs: both operands in shared
// memory for the logits, the weights in registers for the product with V. Operands in shared memory
// are swizzled as sm90_shared.cuh says.
//
// A product is d [64, n] in fp32, d[4 j + 2 i + e] of lane 4 g + t of warp w being row 16 w + 8 i +
// g, column 8 j + 2 t + e. It runs on its own: d, and operands in registers, belong to it until a
// wait.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace nsa::cuda::sm90 {

/// Matrix descriptor of a swizzled operand in shared memory: eight rows lie 1024 bytes after the
/// eight before. `panel_bytes` is the distance of two panels of 64 columns; read where the panels
/// follow one another along n (operand V), never along k.
struct MatrixDescriptor {
  std::uint32_t low;  // panel distance and address, in 16 bytes
  static constexpr std::uint32_t kHigh = 1u << 30 | 1024 >> 4;  // swizzle, distance of eight rows
  __device__ MatrixDescriptor(std::uint32_t address, std::uint32_t panel_bytes)
      : low(panel_bytes >> 4 << 16 | (address & 0x3ffff) >> 4) {}
  /// Of the part that begins `bytes` further on.
  __device__ std::uint64_t at(std::uint32_t bytes = 0) const {
    return std::uint64_t{kHigh} << 32 | (low + (bytes >> 4));
  }
};

/// What was written to registers is seen by the products after it.
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// The products so far are a group of their own.
__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until `kPending` groups or fewer are under way.
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// The compiler may not move reads or writes of these registers over this place.
template <int kCount>
__device__ __forceinline__ void pin(float (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}
/// The same wait; `ready` is what a finished group wrote, and is not read before.
template <int kPending, int kCount>
__device__ __forceinline__ void wgmma_wait(float (&ready)[kCount]) {
  wgmma_wait<kPending>();
  pin(ready);
}

// Lists of accumulators as operands, and their places in the text of an instruction.
#define NSA_D8(i)                                                                             \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define NSA_D32(i) NSA_D8(i), NSA_D8(i + 8), NSA_D8(i + 16), NSA_D8(i + 24)
#define NSA_PLACES_0_31                                               \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18" \
  ",%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define NSA_PLACES_32_63                                                \
  "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48" \
  ",%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define NSA_WGMMA(shape, types, rest) "wgmma.mma_async.sync.aligned." shape ".f32." types rest

// Numbers of `types`, e.g. "bf16.bf16"; the names of the functions' arguments are theirs.
#define NSA_SHARED_N64(types)                                                               \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0;" NSA_WGMMA(                           \
                   "m64n64k16", types, " {" NSA_PLACES_0_31 "}, %32, %33, p, 1, 1, 0, 0;}") \
               : NSA_D32(0)                                                                 \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)))
#define NSA_SHARED_N128(types)                                                               \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0;" NSA_WGMMA(                            \
                   "m64n128k16", types,                                                      \
                   " {" NSA_PLACES_0_31 "," NSA_PLACES_32_63 "}, %64, %65, p, 1, 1, 0, 0;}") \
               : NSA_D32(0), NSA_D32(32)                                                     \
               : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)))
#define NSA_REGISTERS_N64(types)                                                              \
  asm volatile(                                                                               \
      "{.reg .pred p; setp.ne.b32 p, %37, 0;" NSA_WGMMA(                                      \
          "m64n64k16", types, " {" NSA_PLACES_0_31 "}, {%32,%33,%34,%35}, %36, p, 1, 1, 1;}") \
      : NSA_D32(0)                                                                            \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)))
#define NSA_REGISTERS_N128(types)                                                                  \
  asm volatile(                                                                                    \
      "{.reg .pred p; setp.ne.b32 p, %69, 0;" NSA_WGMMA("m64n128k16", types,                       \
                                                        " {" NSA_PLACES_0_31 "," NSA_PLACES_32_63  \
                                                        "}, {%64,%65,%66,%67}, %68, p, 1, 1, 1;}") \
      : NSA_D32(0), NSA_D32(32)                                                                    \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)))
#define NSA_FOR_TYPE(T, product)                         \
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {      \
    product("bf16.bf16");                                \
  } else {                                               \
    static_assert(std::is_same_v<T, __half>, "16 bits"); \
    product("f16.f16");                                  \
  }

/// d [64, 64] (+)= a [64, 16] b [64, 16]^T, both in shared memory by their descriptors, the 16
/// columns contiguous; d is overwritten without `accumulate`.
template <class T>
__device__ __forceinline__ void wgmma_shared(float (&d)[32], std::uint64_t a, std::uint64_t b,
                                             bool accumulate) {
  NSA_FOR_TYPE(T, NSA_SHARED_N64)
}
/// The same for d [64, 128] and b [128, 16].
template <class T>
__device__ __forceinline__ void wgmma_shared(float (&d)[64], std::uint64_t a, std::uint64_t b,
                                             bool accumulate) {
  NSA_FOR_TYPE(T, NSA_SHARED_N128)
}

/// d [64, 64] (+)= a [64, 16] b [16, 64]: a in registers, b in shared memory by its descriptor, its
/// 64 columns contiguous; d is overwritten without `accumulate`.
template <class T>
__device__ __forceinline__ void wgmma_registers(float (&d)[32], const std::uint32_t (&a)[4],
                                                std::uint64_t b, bool accumulate = true) {
  NSA_FOR_TYPE(T, NSA_REGISTERS_N64)
}
/// The same for d [64, 128] and b [16, 128].
template <class T>
__device__ __forceinline__ void wgmma_registers(float (&d)[64], const std::uint32_t (&a)[4],
                                                std::uint64_t b, bool accumulate = true) {
  NSA_FOR_TYPE(T, NSA_REGISTERS_N128)
}

#undef NSA_D8
#undef NSA_D32
#undef NSA_PLACES_0_31
#undef NSA_PLACES_32_63
#undef NSA_WGMMA
#undef NSA_SHARED_N64
#undef NSA_SHARED_N128
#undef NSA_REGISTERS_N64
#undef NSA_REGISTERS_N128
#undef NSA_FOR_TYPE

}  // namespace nsa::cuda::sm90
