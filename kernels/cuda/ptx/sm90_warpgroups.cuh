// How the warpgroups of one block divide its work on Hopper (warp specialisation): a producer gives
// registers to the consumers, both walk a ring of buffers, consumers take turns at the tensor cores
// (PTX ISA, "setmaxnreg" and "barrier").
#pragma once

#include <cstdint>

namespace nsa::cuda::sm90 {

/// Sets the registers of each thread of the calling warpgroup, fewer or more than it has.
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

/// Place in a ring of `kStages` buffers, and the parity of the round, which barriers wait for.
/// Where several walk the ring together, each begins at its own number and takes every kStep-th
/// buffer.
template <int kStages, int kStep = 1>
struct Ring {
  static_assert(kStages % kStep == 0, "a buffer is always taken by the same one");
  int stage = 0;
  unsigned parity = 0;
  __device__ void next() {
    stage += kStep;
    if (stage >= kStages) {
      stage -= kStages;
      parity ^= 1;
    }
  }
};

}  // namespace nsa::cuda::sm90
