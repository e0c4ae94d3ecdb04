// The generator on a device: a thread an element, until all are made.
#include <algorithm>

#include "cuda/launch/launch.cuh"
#include "cuda/ptx/numbers.cuh"
#include "nsa/kernels/device_inputs.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/generator.hpp"

namespace nsa::device {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 4096;

__device__ void store(float& to, double x) { to = __double2float_rn(x); }
__device__ void store(__nv_bfloat16& to, double x) { to = __double2bfloat16(x); }
__device__ void store(__half& to, double x) { to = __double2half(x); }

template <class T>
__global__ void __launch_bounds__(kThreads)
    generate_kernel(T* to, std::int64_t elements, std::uint64_t seed, double scale) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < elements; i += step)
    store(to[i], nsa::generate(static_cast<std::uint64_t>(i), seed, scale));
}

}  // namespace

void generate(const TensorView& tensor, std::uint64_t seed, double scale, CUstream_st* stream) {
  expects(tensor.contiguous(), "a contiguous tensor");
  const std::int64_t elements = tensor.elements();
  if (elements == 0) return;
  const std::int64_t blocks = std::min((elements + kThreads - 1) / kThreads, kMostBlocks);
  cuda::with_storage_type(tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    cuda::launch(generate_kernel<T>, blocks, kThreads, 0, stream, static_cast<T*>(tensor.data),
                 elements, seed, scale);
  });
}

}  // namespace nsa::device
