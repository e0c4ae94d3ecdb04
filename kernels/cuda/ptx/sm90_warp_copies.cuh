// Copies by the threads of a producer's warp (PTX ISA, "cp.async.bulk.tensor", "cp.async" and
// "cp.async.mbarrier.arrive").
#pragma once

#include "cuda/ptx/sm90_async.cuh"

namespace nsa::cuda::sm90 {

/// copy_box by the threads for which `issue` holds, without a branch: what is the same for a warp
/// is computed once.
__device__ inline void copy_box_if(bool issue, std::uint32_t to, const CUtensorMap& map, int column,
                                   int head, int row, std::uint32_t barrier) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %6, 0;\n"
      "@p cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::"
      "complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];}" ::"r"(to),
      "l"(&map), "r"(column), "r"(head), "r"(row), "r"(barrier), "r"(static_cast<int>(issue))
      : "memory");
}

/// 8 bytes, by cp.async.
__device__ inline void copy_async_8(std::uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;\n" ::"r"(to), "l"(from) : "memory");
}
/// Arrives once all copies by cp.async that this thread began before have come: one of the arrivals
/// that the barrier was initialised with.
__device__ inline void barrier_arrive_behind_copies(std::uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

}  // namespace nsa::cuda::sm90
