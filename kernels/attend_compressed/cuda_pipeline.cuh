// Barriers in shared memory, bulk copies and register budgets: what a producer and its consumers in
// one block of threads share (PTX ISA, mbarrier, cp.async.bulk, setmaxnreg).
#pragma once

#include <cstdint>

namespace nsa::cuda::compressed {

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// A barrier in shared memory that completes a phase once `count` threads have arrived and all
/// announced bytes have come.
struct Barrier {
  std::uint64_t state;

  __device__ void init(int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" ::"r"(shared_address(&state)),
                 "r"(count));
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(shared_address(&state))
                 : "memory");
  }
  __device__ void arrive_expecting(int bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(shared_address(&state)),
        "r"(bytes)
        : "memory");
  }
  /// Waits for the end of the phase with that parity: 0 for the first, 1 for the second, ...
  __device__ void wait(unsigned parity) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}\n" ::"r"(shared_address(&state)),
        "r"(parity)
        : "memory");
  }
};

/// Barriers that were just initialised are seen by all threads and by the copy engine.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
}
/// Shared memory written by this thread is seen by the tensor cores.
__device__ inline void publish_to_tensor_cores() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

/// Copies `bytes` (a multiple of 16) to shared memory; the barrier counts them.
__device__ inline void bulk_load(void* to, const void* from, int bytes, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\n" ::
          "r"(shared_address(to)),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(&barrier.state))
      : "memory");
}

/// Copies 16 bytes to shared memory, or zeros; wait_for_copies() ends it.
__device__ inline void copy_16_bytes(void* to, const void* from, bool zeros) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(zeros ? 0 : 16)
               : "memory");
}
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;\n" ::: "memory"); }

template <int kRegisters>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(kRegisters));
}

/// Turns among the computing warpgroups: turn `turn` waits until the one before it has passed on.
/// Named barriers 1 to 3 (0 is the whole block's); both warpgroups of a pass meet in one.
struct Turns {
  static __device__ void wait(int turn) {
    asm volatile("bar.sync %0, 256;\n" ::"r"(turn + 1) : "memory");
  }
  static __device__ void pass_to(int turn) {
    asm volatile("bar.arrive %0, 256;\n" ::"r"(turn + 1) : "memory");
  }
};

/// Programmatic dependent launch: the next kernel of the stream may take its place on the chip.
__device__ inline void let_next_kernel_start() {
  asm volatile("griddepcontrol.launch_dependents;\n" ::: "memory");
}
/// Waits until the kernel before this one has ended; what it wrote is seen.
__device__ inline void wait_for_kernel_before() {
  asm volatile("griddepcontrol.wait;\n" ::: "memory");
}

/// Place in a ring of `kStages` buffers, and the parity of the round.
template <int kStages>
struct Ring {
  int stage = 0;
  unsigned parity = 0;
  __device__ void next() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace nsa::cuda::compressed
