// Hopper's warpgroup products (PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate"):
// the two shapes that the compressed branch needs, and the shared-memory descriptors they take.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace nsa::cuda::compressed {

/// Descriptor of an operand in 128-byte rows with the 128-byte swizzle: eight rows are 1024 bytes.
/// `panel_bytes` is the distance of two panels of 64 elements, where the operand's contiguous side
/// is the outer one of the product.
struct SwizzledOperand {
  std::uint32_t low;  // address and panel distance, in 16 bytes
  static constexpr std::uint32_t kHigh = 1u << 30 | 1024 >> 4;  // swizzle, distance of eight rows
  __device__ SwizzledOperand(const void* data, std::uint32_t panel_bytes)
      : low(panel_bytes >> 4 << 16 |
            (static_cast<std::uint32_t>(__cvta_generic_to_shared(data)) & 0x3ffff) >> 4) {}
  /// The part that begins `bytes` behind.
  __device__ std::uint64_t at(std::uint32_t bytes) const {
    return std::uint64_t{kHigh} << 32 | (low + (bytes >> 4));
  }
};

/// What was written to registers is seen by the products behind it.
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory"); }
/// The products so far are a group of their own.
__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}

/// The compiler may not move reads or writes of these registers over this place.
template <int kCount>
__device__ __forceinline__ void pin(float (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

/// Waits until `kPending` groups or fewer are under way; `ready` is what a finished one wrote.
template <int kPending, int kCount>
__device__ __forceinline__ void wgmma_wait(float (&ready)[kCount]) {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(kPending) : "memory");
  pin(ready);
}

// Lists of 8 to 64 accumulators as operands.
#define NSA_ACC8(d, i)                                                                        \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define NSA_ACC32(d, i) NSA_ACC8(d, i), NSA_ACC8(d, i + 8), NSA_ACC8(d, i + 16), NSA_ACC8(d, i + 24)
#define NSA_PLACES32                                                        \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
#define NSA_PLACES64                                                                  \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
  " %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  " %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  " %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "

/// Products of one warpgroup, fp32 sums. Lane 4 g + c of warp w holds d[4 n + 2 i + e]: row
/// 16 w + g + 8 i, column 8 n + 2 c + e.
template <class T>
struct Wgmma;
// keys_128: d [64, 128] (+)= a [64, 16] b [128, 16]^T, both in shared memory, dim contiguous.
// values: d [64, 64 or 128] += a [64, 16] b [16, 64 or 128], a in registers, b's columns
// contiguous.

template <>
struct Wgmma<__nv_bfloat16> {
  static __device__ __forceinline__ void keys_128(float (&d)[64], std::uint64_t a, std::uint64_t b,
                                                  bool accumulate) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " NSA_PLACES64
        "%64, %65, p, 1, 1, 0, 0;\n}\n"
        : NSA_ACC32(d, 0), NSA_ACC32(d, 32)
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
  }
  static __device__ __forceinline__ void values(float (&d)[32], const std::uint32_t (&a)[4],
                                                std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " NSA_PLACES32
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
                 : NSA_ACC32(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
  static __device__ __forceinline__ void values(float (&d)[64], const std::uint32_t (&a)[4],
                                                std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " NSA_PLACES64
                 "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;\n"
                 : NSA_ACC32(d, 0), NSA_ACC32(d, 32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};

template <>
struct Wgmma<__half> {
  static __device__ __forceinline__ void keys_128(float (&d)[64], std::uint64_t a, std::uint64_t b,
                                                  bool accumulate) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " NSA_PLACES64
        "%64, %65, p, 1, 1, 0, 0;\n}\n"
        : NSA_ACC32(d, 0), NSA_ACC32(d, 32)
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
  }
  static __device__ __forceinline__ void values(float (&d)[32], const std::uint32_t (&a)[4],
                                                std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " NSA_PLACES32
                 "{%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
                 : NSA_ACC32(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
  static __device__ __forceinline__ void values(float (&d)[64], const std::uint32_t (&a)[4],
                                                std::uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " NSA_PLACES64
                 "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;\n"
                 : NSA_ACC32(d, 0), NSA_ACC32(d, 32)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
  }
};

#undef NSA_ACC8
#undef NSA_ACC32
#undef NSA_PLACES32
#undef NSA_PLACES64

}  // namespace nsa::cuda::compressed
