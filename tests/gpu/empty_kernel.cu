#include <cuda_runtime.h>

#include <thread>
#include <vector>

#include "kernels.hpp"
#include "nsa/schemas/cuda_error.hpp"

namespace nsa::test {
namespace {

__global__ void empty_kernel() {}

void launch_on_own_stream(int launches) {
  constexpr int kPending = 512;  // so that no launch waits for a place in the queue
  cudaStream_t stream = nullptr;
  NSA_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int i = 0; i < launches; ++i) {
    launch_empty(stream);
    if (i % kPending == kPending - 1) NSA_CUDA(cudaStreamSynchronize(stream));
  }
  NSA_CUDA(cudaStreamSynchronize(stream));
  NSA_CUDA(cudaStreamDestroy(stream));
}

}  // namespace

void launch_empty(CUstream_st* stream) { empty_kernel<<<1, 1, 0, stream>>>(); }

void launch_empty_from_threads(int threads, int launches_each) {
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) running.emplace_back(launch_on_own_stream, launches_each);
  for (std::thread& thread : running) thread.join();
}

}  // namespace nsa::test
