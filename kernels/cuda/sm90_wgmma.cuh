// Warpgroup matrix instructions of Hopper (sm_90a): PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions". Operands in shared memory lie in tiles of 64 16-bit columns, 128 bytes a row,
// whose 16-byte pieces are swizzled: piece c of row r is at c ^ (r % 8).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace nsa::cuda::sm90 {

/// Where piece `piece` (16 bytes, 8 numbers) of row `row` lies in a tile of `rows` rows.
__device__ inline int swizzled(int rows, int row, int piece) {
  return piece / 8 * rows * 128 + row * 128 + (((piece % 8) ^ (row & 7)) << 4);
}

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Descriptor of a swizzled tile. Eight rows lie 1024 bytes behind the eight before; `column_bytes`
/// is the distance of two tiles of 64 columns (read for transposed operands only).
__device__ inline std::uint64_t descriptor(std::uint32_t address, std::uint32_t column_bytes) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return kSwizzle128 | std::uint64_t{1024 >> 4} << 32 |
         static_cast<std::uint64_t>(column_bytes >> 4) << 16 | ((address & 0x3ffff) >> 4);
}

__device__ inline void fence_registers() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
__device__ void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
/// What ordinary stores wrote is visible to wgmma of the threads behind the next barrier.
__device__ inline void fence_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#define NSA_REGISTERS_32                                                                         \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%" \
  "25,"                                                                                          \
  "%26,%27,%28,%29,%30,%31},"
#define NSA_REGISTERS_64                                                                         \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%" \
  "25,"                                                                                          \
  "%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48," \
  "%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63},"
#define NSA_C4(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define NSA_C16(i) NSA_C4(i), NSA_C4(i + 4), NSA_C4(i + 8), NSA_C4(i + 12)
#define NSA_C32 NSA_C16(0), NSA_C16(16)
#define NSA_C64 NSA_C32, NSA_C16(32), NSA_C16(48)

/// c (+)= a b^T for a [64, 16] and b [64, 16] in shared memory; c is overwritten where `add` is 0.
template <class T>
__device__ void multiply_shared(float (&c)[32], std::uint64_t a, std::uint64_t b, int add);
template <>
__device__ inline void multiply_shared<__nv_bfloat16>(float (&c)[32], std::uint64_t a,
                                                      std::uint64_t b, int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %34, 0;"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " NSA_REGISTERS_32
      "%32, %33, p, 1, 1, 0, 0;}"
      : NSA_C32
      : "l"(a), "l"(b), "r"(add));
}
template <>
__device__ inline void multiply_shared<__half>(float (&c)[32], std::uint64_t a, std::uint64_t b,
                                               int add) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %34, 0;"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " NSA_REGISTERS_32
      "%32, %33, p, 1, 1, 0, 0;}"
      : NSA_C32
      : "l"(a), "l"(b), "r"(add));
}

/// c += a b for a [64, 16] in registers and b [16, 64] in shared memory, rows of 64 columns.
template <class T>
__device__ void multiply_registers(float (&c)[32], const std::uint32_t (&a)[4], std::uint64_t b);
template <>
__device__ inline void multiply_registers<__nv_bfloat16>(float (&c)[32],
                                                         const std::uint32_t (&a)[4],
                                                         std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " NSA_REGISTERS_32
               "{%32,%33,%34,%35}, %36, 1, 1, 1, 1;"
               : NSA_C32
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
template <>
__device__ inline void multiply_registers<__half>(float (&c)[32], const std::uint32_t (&a)[4],
                                                  std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " NSA_REGISTERS_32
               "{%32,%33,%34,%35}, %36, 1, 1, 1, 1;"
               : NSA_C32
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
/// The same with b [16, 128].
template <class T>
__device__ void multiply_registers(float (&c)[64], const std::uint32_t (&a)[4], std::uint64_t b);
template <>
__device__ inline void multiply_registers<__nv_bfloat16>(float (&c)[64],
                                                         const std::uint32_t (&a)[4],
                                                         std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " NSA_REGISTERS_64
               "{%64,%65,%66,%67}, %68, 1, 1, 1, 1;"
               : NSA_C64
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
template <>
__device__ inline void multiply_registers<__half>(float (&c)[64], const std::uint32_t (&a)[4],
                                                  std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " NSA_REGISTERS_64
               "{%64,%65,%66,%67}, %68, 1, 1, 1, 1;"
               : NSA_C64
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

#undef NSA_REGISTERS_32
#undef NSA_REGISTERS_64
#undef NSA_C4
#undef NSA_C16
#undef NSA_C32
#undef NSA_C64

}  // namespace nsa::cuda::sm90
