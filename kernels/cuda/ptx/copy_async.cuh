// Copies of 16 bytes to shared memory that run beside the threads (PTX ISA, "cp.async").
#pragma once

#include <cstdint>

namespace nsa::cuda {

/// Zeros where the source does not exist; `from` is a valid address all the same.
__device__ inline void copy_async_16(std::uint32_t to, const void* from, bool exists) {
  const int bytes = exists ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(bytes)
               : "memory");
}
/// 4 bytes.
__device__ inline void copy_async_4(std::uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n" ::"r"(to), "l"(from) : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int kPending>
__device__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}

/// Waits for all of this thread's copies, without a commit.
__device__ inline void wait_all_copies() { asm volatile("cp.async.wait_all;\n" ::: "memory"); }

}  // namespace nsa::cuda
