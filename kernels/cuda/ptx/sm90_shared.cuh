// Shared memory as TMA and tensor cores see it: 32-bit addresses, the 128-byte
// swizzle, and the fence between ordinary stores and what these units read (PTX ISA, "Async
// proxy").
#pragma once

#include <cstdint>

namespace nsa::cuda::sm90 {

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Byte offset of piece `piece` (16 bytes, 8 numbers) of row `row` in an operand [rows, columns] of
/// 16-bit numbers: panels of 64 columns one after another, 128 bytes a row, piece c of row r at c
/// ^ (r % 8). The operand begins at a multiple of 1024 bytes.
__device__ inline int swizzled(int rows, int row, int piece) {
  return piece / 8 * rows * 128 + row * 128 + (((piece % 8) ^ (row & 7)) << 4);
}

/// What ordinary stores and cp.async of this thread wrote is visible to wgmma of the threads after
/// the next barrier.
__device__ inline void fence_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace nsa::cuda::sm90
