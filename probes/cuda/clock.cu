#include <cuda_runtime.h>

#include "cuda/clock.hpp"
#include "nsa/schemas/cuda_error.hpp"

namespace nsa::probes {
namespace {

__device__ unsigned long long global_timer_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ unsigned multiprocessor() {
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

__global__ void stamp_kernel(ClockStamp* stamp) {
  if (multiprocessor() != 0) return;
  stamp->cycles = static_cast<unsigned long long>(clock64());
  stamp->global_ns = global_timer_ns();
}

__global__ void hold_kernel(const volatile std::uint32_t* released, std::uint32_t ticket,
                            unsigned long long limit_ns) {
  const unsigned long long begin = global_timer_ns();
  while (*released != ticket && global_timer_ns() - begin < limit_ns) {
  }
}

}  // namespace

void enqueue_stamp(ClockStamp* stamp, int multiprocessors, CUstream_st* stream) {
  // Twice as many blocks as multiprocessors: an idle device places one on each before a second.
  stamp_kernel<<<static_cast<unsigned>(2 * multiprocessors), 1, 0, stream>>>(stamp);
  NSA_CUDA(cudaGetLastError());
}

void enqueue_hold(const volatile std::uint32_t* released, std::uint32_t ticket,
                  std::uint64_t limit_ns, CUstream_st* stream) {
  hold_kernel<<<1, 1, 0, stream>>>(released, ticket, limit_ns);
  NSA_CUDA(cudaGetLastError());
}

}  // namespace nsa::probes
