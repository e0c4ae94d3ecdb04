// Row by row: a norm over the whole output would hide a wrong row.
#include <cfloat>
#include <type_traits>

#include "cuda/launch/launch.cuh"
#include "cuda/oracle/kernels.hpp"
#include "cuda/oracle/rows.cuh"

namespace nsa::cuda {
namespace {

using oracle::as_double, oracle::block_sum, oracle::kThreads;

constexpr unsigned char kPoison = 0xA5;

struct Produced {
  const void* data;
  std::int64_t shape[kMaxRank], stride[kMaxRank];
  int rank;
  std::int64_t elements;  // of a row
};

/// Offset of element `i` of row `row` in a strided tensor.
__device__ std::int64_t offset_of(const Produced& tensor, std::int64_t row, std::int64_t i) {
  std::int64_t offset = row * tensor.stride[0];
  for (int d = tensor.rank - 1; d > 0; --d) {
    offset += i % tensor.shape[d] * tensor.stride[d];
    i /= tensor.shape[d];
  }
  return offset;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    compare_kernel(Produced produced, std::int64_t first, const double* expected, double tolerance,
                   bool integers, RowCheck* checks) {
  __shared__ double shared[kThreads];
  const double* row = expected + blockIdx.x * produced.elements;
  const T* data = static_cast<const T*>(produced.data);
  const std::int64_t token = first + blockIdx.x;

  double difference = 0, norm = 0;
  std::int64_t wrong = 0, non_finite = 0;
  for (std::int64_t i = threadIdx.x; i < produced.elements; i += kThreads) {
    const double want = row[i], got = as_double(data[offset_of(produced, token, i)]);
    wrong += got != want;
    non_finite += isfinite(want) && !isfinite(got);
    norm += want * want;
    if (got != want) difference += (got - want) * (got - want);
  }
  const auto count = static_cast<double>(produced.elements);
  difference = block_sum(difference, shared);
  norm = block_sum(norm, shared);
  const double wrong_sum = block_sum(static_cast<double>(wrong), shared);
  const double non_finite_sum = block_sum(static_cast<double>(non_finite), shared);

  // As count_bad of the CPU's oracle: in fp16 the poison, -0.022, may also be the right answer.
  double poisoned = 0;
  const double rms = sqrt(norm / count);
  for (std::int64_t i = threadIdx.x; i < produced.elements; i += kThreads) {
    const T x = data[offset_of(produced, token, i)];
    const double slack = std::is_same_v<T, __half> ? tolerance * (fabs(row[i]) + rms) : 0.0;
    poisoned += oracle::holds(x, kPoison) && !(fabs(as_double(x) - row[i]) <= slack);
  }
  poisoned = block_sum(poisoned, shared);
  if (threadIdx.x != 0) return;
  double error = integers ? wrong_sum / count : sqrt(difference) / fmax(sqrt(norm), DBL_MIN);
  if (isnan(error)) error = INFINITY;
  checks[blockIdx.x] = {error, static_cast<std::int64_t>(poisoned),
                        static_cast<std::int64_t>(non_finite_sum)};
}

}  // namespace

void compare_rows(const TensorView& produced, std::int64_t first, std::int64_t count,
                  std::int64_t elements, const double* expected, double tolerance, RowCheck* checks,
                  CUstream_st* stream) {
  Produced tensor{.data = produced.data,
                  .shape = {},
                  .stride = {},
                  .rank = produced.rank,
                  .elements = elements};
  for (int d = 0; d < produced.rank; ++d) {
    tensor.shape[d] = produced.shape[static_cast<std::size_t>(d)];
    tensor.stride[d] = produced.stride[static_cast<std::size_t>(d)];
  }
  const auto run = [&](auto zero, bool integers) {
    launch(compare_kernel<decltype(zero)>, count, kThreads, 0, stream, tensor, first, expected,
           tolerance, integers, checks);
  };
  if (produced.dtype == Dtype::int32) return run(std::int32_t{}, true);
  with_storage_type(produced.dtype, [&](auto zero) { run(zero, false); });
}

}  // namespace nsa::cuda
