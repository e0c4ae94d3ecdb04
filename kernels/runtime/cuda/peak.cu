// What products by cuBLASLt reach on this device, with numbers like real data.
#include <utility>
#include <vector>

#include "cuda/gemm/gemm.hpp"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/numbers.cuh"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/peak.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa {
namespace {

constexpr int kThreads = 256;

/// Numbers between -1 and 1 by a hash of their index: zeros would run faster than real data.
template <class T>
__global__ void fill_kernel(T* to, std::int64_t count, std::uint32_t seed) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= count) return;
  std::uint32_t x = static_cast<std::uint32_t>(i) * 2654435761u + seed;
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  to[i] = cuda::from_float<T>(static_cast<float>(x) * 0x1p-31f - 1.0f);
}

TensorView random_matrix(const device::Buffer& buffer, Dtype dtype, std::int64_t n,
                         std::uint32_t seed, CUstream_st* stream) {
  cuda::with_storage_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    cuda::launch(fill_kernel<T>, (n * n + kThreads - 1) / kThreads, kThreads, 0, stream,
                 static_cast<T*>(buffer.data()), n * n, seed);
  });
  return make_view(buffer.data(), dtype, {n, n});
}

/// Two events for one scope.
class Stopwatch {
 public:
  Stopwatch() {
    NSA_CUDA(cudaEventCreate(&begin_));
    NSA_CUDA(cudaEventCreate(&end_));
  }
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  template <class F>
  double seconds(CUstream_st* stream, F f) {
    NSA_CUDA(cudaEventRecord(begin_, stream));
    f();
    NSA_CUDA(cudaEventRecord(end_, stream));
    NSA_CUDA(cudaEventSynchronize(end_));
    float milliseconds = 0;
    NSA_CUDA(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

double measure_device_flop_per_s(Dtype dtype, CUstream_st* stream) {
  if (!cuda::gemm_missing().empty()) return 0;
  const std::int64_t n = dtype == Dtype::fp32 ? 4096 : 8192;
  const std::size_t bytes = static_cast<std::size_t>(n * n) * size_of(dtype);
  const device::Buffer a(bytes), b(bytes), c(bytes);
  const TensorView x = random_matrix(a, dtype, n, 1, stream);
  const TensorView w = random_matrix(b, dtype, n, 2, stream);
  const TensorView y = make_view(c.data(), dtype, {n, n});
  Workspace workspace(device::allocator());
  Stopwatch watch;
  std::vector<double> seconds(9);
  for (int warmup = 0; warmup < 2; ++warmup) cuda::gemm(x, w, y, workspace, stream);
  for (double& one : seconds) {
    one = watch.seconds(stream, [&] { cuda::gemm(x, w, y, workspace, stream); });
  }
  const auto side = static_cast<double>(n);
  return 2 * side * side * side / median(std::move(seconds));
}

}  // namespace nsa
