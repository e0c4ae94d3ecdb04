// Row by row, in fp64: what the host's row_distances() and counts of elements say, at the speed of
// the device's memory; and rows to the host, in one copy.
#include <cfloat>
#include <cstring>
#include <type_traits>

#include "cuda/launch/launch.cuh"
#include "cuda/oracle/rows.cuh"
#include "nsa/kernels/device_memory.hpp"
#include "nsa/kernels/device_outputs.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::device {
namespace {

using cuda::oracle::as_double, cuda::oracle::block_sum, cuda::oracle::holds, cuda::oracle::kThreads;

template <class T>
__device__ bool same_bits(const T& x, const T& y) {
  const auto *p = reinterpret_cast<const unsigned char*>(&x),
             *q = reinterpret_cast<const unsigned char*>(&y);
  for (std::size_t i = 0; i < sizeof(T); ++i)
    if (p[i] != q[i]) return false;
  return true;
}

/// A block per row; `most` [rows] grows where this tensor's rows are farther apart.
template <class T>
__global__ void __launch_bounds__(kThreads)
    distance_kernel(const T* a, const T* b, std::int64_t elements, double tolerance, double* most) {
  __shared__ double shared[kThreads];
  const std::int64_t row = blockIdx.x;
  double difference = 0, norm = 0;
  double differs = 0;
  for (std::int64_t i = threadIdx.x; i < elements; i += kThreads) {
    const T x = a[row * elements + i], y = b[row * elements + i];
    const double u = as_double(x), v = as_double(y);
    norm += u * u;
    if constexpr (std::is_same_v<T, std::int32_t>) {
      difference += u != v;
    } else {
      difference += (u - v) * (u - v);
      differs += !same_bits(x, y);
    }
  }
  difference = block_sum(difference, shared);
  norm = block_sum(norm, shared);
  differs = block_sum(differs, shared);
  if (threadIdx.x != 0) return;
  double apart = difference / static_cast<double>(elements);
  if constexpr (!std::is_same_v<T, std::int32_t>) {
    apart = differs > 0 ? sqrt(difference) / fmax(sqrt(norm), DBL_MIN) : 0.0;
    if (isnan(apart)) apart = INFINITY;
    if (!(apart > tolerance)) apart = 0;
  }
  most[row] = fmax(most[row], apart);
}

/// counts[0] += untouched, counts[1] += not finite.
template <class T>
__global__ void __launch_bounds__(kThreads)
    odd_kernel(const T* now, unsigned char poison, const T* before, unsigned char old_poison,
               std::int64_t elements, unsigned long long* counts) {
  unsigned long long untouched = 0, non_finite = 0;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x; i < elements;
       i += step) {
    const T x = now[i];
    untouched += holds(x, poison) && holds(before[i], old_poison);
    if constexpr (!std::is_same_v<T, std::int32_t>) non_finite += !isfinite(as_double(x));
  }
  if (untouched) atomicAdd(counts, untouched);
  if (non_finite) atomicAdd(counts + 1, non_finite);
}

/// A block per row: the row of that number to the block's place among those that are packed.
__global__ void __launch_bounds__(kThreads)
    gather_kernel(const std::byte* from, std::size_t row_bytes, const std::int64_t* numbers,
                  std::byte* to) {
  from += static_cast<std::size_t>(numbers[blockIdx.x]) * row_bytes;
  to += blockIdx.x * row_bytes;
  for (std::size_t i = threadIdx.x; i < row_bytes; i += kThreads) to[i] = from[i];
}

std::size_t bytes_of_row(const TensorView& tensor) {
  return tensor.bytes() / static_cast<std::size_t>(tensor.shape[0]);
}

template <class Run>
void with_type(Dtype dtype, Run run) {
  if (dtype == Dtype::int32) return run(std::int32_t{});
  if (dtype == Dtype::fp64) return run(double{});
  cuda::with_storage_type(dtype, run);
}

}  // namespace

std::vector<double> row_distances(std::span<const TensorView> a, std::span<const TensorView> b,
                                  double tolerance, Workspace& scratch, CUstream_st* stream) {
  expects(a.size() == b.size(), "as many tensors on both sides");
  const std::int64_t rows = a.empty() ? 0 : a.front().shape[0];
  std::vector<double> distances(static_cast<std::size_t>(rows));
  if (rows == 0) return distances;
  const WorkspaceScope scope(scratch);
  const std::span<double> most = scratch.take<double>(rows);
  fill(most.data(), std::byte{0}, most.size_bytes(), stream);
  for (std::size_t t = 0; t < a.size(); ++t) {
    expects(a[t].shape == b[t].shape && a[t].shape[0] >= rows, "tensors of the same shapes");
    const std::int64_t elements = a[t].elements() / a[t].shape[0];
    with_type(a[t].dtype, [&](auto zero) {
      using T = decltype(zero);
      cuda::launch(distance_kernel<T>, rows, kThreads, 0, stream, static_cast<const T*>(a[t].data),
                   static_cast<const T*>(b[t].data), elements, tolerance, most.data());
    });
  }
  copy_to_host(distances.data(), most.data(), most.size_bytes(), stream);
  synchronize(stream);
  return distances;
}

OddElements odd_elements(std::span<const TensorView> now, std::byte poison,
                         std::span<const TensorView> before, std::byte old_poison,
                         Workspace& scratch, CUstream_st* stream) {
  expects(now.size() == before.size(), "as many tensors on both sides");
  constexpr std::int64_t kBlocks = 1024;
  std::int64_t found[2] = {};
  const WorkspaceScope scope(scratch);
  const auto counts = scratch.take<unsigned long long>(2);
  fill(counts.data(), std::byte{0}, counts.size_bytes(), stream);
  for (std::size_t t = 0; t < now.size(); ++t) {
    if (now[t].elements() == 0) continue;
    with_type(now[t].dtype, [&](auto zero) {
      using T = decltype(zero);
      cuda::launch(odd_kernel<T>, kBlocks, kThreads, 0, stream, static_cast<const T*>(now[t].data),
                   std::to_integer<unsigned char>(poison), static_cast<const T*>(before[t].data),
                   std::to_integer<unsigned char>(old_poison), now[t].elements(), counts.data());
    });
  }
  copy_to_host(found, counts.data(), counts.size_bytes(), stream);
  synchronize(stream);
  return {found[0], found[1]};
}

std::vector<HostBytes> fetch_rows(std::span<const TensorView> tensors,
                                  std::span<const std::int64_t> rows, Workspace& scratch,
                                  CUstream_st* stream) {
  // The numbers of the rows of each tensor lie one after another, and so do their bytes.
  std::vector<std::int64_t> numbers;
  std::vector<HostBytes> fetched;
  std::size_t bytes = 0;
  for (const TensorView& tensor : tensors) {
    const std::size_t before = numbers.size();
    for (const std::int64_t row : rows)
      if (row >= 0 && row < tensor.shape[0]) numbers.push_back(row);
    const std::size_t count = numbers.size() - before;
    bytes += fetched.emplace_back(count > 0 ? count * bytes_of_row(tensor) : 0).size();
  }
  if (bytes == 0) return fetched;
  const WorkspaceScope scope(scratch);
  const auto on_device = scratch.take<std::int64_t>(std::ssize(numbers));
  const auto packed = scratch.take<std::byte>(static_cast<std::int64_t>(bytes));
  copy_to_device(on_device.data(), numbers.data(), on_device.size_bytes(), stream);
  const std::int64_t* of_tensor = on_device.data();
  std::byte* to = packed.data();
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    if (fetched[t].empty()) continue;
    const std::size_t row_bytes = bytes_of_row(tensors[t]);
    const std::size_t count = fetched[t].size() / row_bytes;
    cuda::launch(gather_kernel, static_cast<std::int64_t>(count), kThreads, 0, stream,
                 static_cast<const std::byte*>(tensors[t].data), row_bytes, of_tensor, to);
    of_tensor += count;
    to += fetched[t].size();
  }
  HostBytes all(bytes);
  copy_to_host(all.data(), packed.data(), bytes, stream);
  synchronize(stream);
  const std::byte* from = all.data();
  for (HostBytes& part : fetched) {
    if (!part.empty()) std::memcpy(part.data(), from, part.size());
    from += part.size();
  }
  return fetched;
}

}  // namespace nsa::device
