// Barriers in shared memory and the copies that they count: what a producer and its consumers in
// one thread block share on Hopper (PTX ISA, "mbarrier", "cp.async.bulk" and
// "cp.async.bulk.tensor"). Barriers are 8 bytes, named by their address or as a struct's member.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "cuda/ptx/sm90_shared.cuh"

namespace nsa::cuda::sm90 {

/// A phase ends once `arrivals` threads have arrived and all announced bytes have come.
__device__ inline void barrier_init(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// The barriers that this thread initialised are seen by TMA.
__device__ inline void barrier_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// For several threads at once.
__device__ inline void barrier_arrive(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(arrivals)
               : "memory");
}
/// Arrives, and lets the phase wait for so many bytes of copies too.
__device__ inline void barrier_expect(std::uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Waits for the end of the phase of that parity: 0 for the first, 1 for the second, ...
__device__ inline void barrier_wait(std::uint32_t barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred over;\n"
      "waiting:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@!over bra waiting;\n}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// A barrier as a member of a struct in shared memory.
struct Barrier {
  std::uint64_t state;

  __device__ std::uint32_t address() const { return shared_address(&state); }
  __device__ void init(int arrivals) { barrier_init(address(), arrivals); }
  __device__ void arrive() { barrier_arrive(address()); }
  __device__ void expect(int bytes) { barrier_expect(address(), bytes); }
  __device__ void wait(unsigned parity) { barrier_wait(address(), parity); }
};

/// Copies `bytes` (a multiple of 16, both ends aligned so) to shared memory; `barrier` counts them.
__device__ inline void copy_bulk(std::uint32_t to, const void* from, int bytes,
                                 std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::"
      "bytes [%0], [%1], %2, [%3];" ::"r"(to),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
      : "memory");
}

/// Copies the box of a map of rank 3 that begins at (column, head, row); `barrier` counts its
/// bytes.
__device__ inline void copy_box(std::uint32_t to, const CUtensorMap& map, int column, int head,
                                int row, std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::"
      "complete_tx::bytes "
      "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(to),
      "l"(&map), "r"(column), "r"(head), "r"(row), "r"(barrier)
      : "memory");
}

}  // namespace nsa::cuda::sm90
