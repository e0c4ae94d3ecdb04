#include "attend_selected/cuda/rows/host_ranges.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "cuda/flash/attend_params.hpp"
#include "nsa/schemas/cuda_error.hpp"

namespace nsa::cuda {
namespace {

/// Appends rows [first, first + count) of one head to a packed copy.
void copy_rows(const HeadTensor<const void>& tensor, std::size_t element_bytes, std::int64_t first,
               std::int64_t count, int kv_head, int dim, std::byte* to, cudaStream_t stream) {
  const auto element = static_cast<std::int64_t>(element_bytes);
  const auto width = static_cast<std::size_t>(dim * element);
  const std::byte* from = static_cast<const std::byte*>(tensor.data) +
                          (first * tensor.row_stride + kv_head * tensor.head_stride) * element;
  NSA_CUDA(cudaMemcpy2DAsync(to, width, from, static_cast<std::size_t>(tensor.row_stride * element),
                             width, static_cast<std::size_t>(count), cudaMemcpyDeviceToDevice,
                             stream));
}

}  // namespace

std::vector<HostRange> read_ranges(const AttendParams& p, std::int64_t token, int kv_head,
                                   std::int64_t kv_len, CUstream_st* stream) {
  std::vector<HostRange> ranges(static_cast<std::size_t>(p.sel_count));
  const std::int32_t* row = p.ranges + token * p.ranges_row_stride + kv_head * p.ranges_head_stride;
  NSA_CUDA(cudaMemcpy2DAsync(ranges.data(), sizeof(HostRange), row,
                             static_cast<std::size_t>(p.ranges_pair_stride) * sizeof(std::int32_t),
                             sizeof(HostRange), ranges.size(), cudaMemcpyDeviceToHost, stream));
  NSA_CUDA(cudaStreamSynchronize(stream));
  int behind = 0;
  for (HostRange& range : ranges) {  // a key counts once
    range.begin = std::max(range.begin, behind);
    range.end = std::max(range.begin, std::min(range.end, static_cast<int>(kv_len)));
    if (range.end > range.begin) behind = range.end;
  }
  return ranges;
}

int total_keys(const std::vector<HostRange>& ranges) {
  int keys = 0;
  for (const HostRange& range : ranges) keys += range.end - range.begin;
  return keys;
}

void copy_ranges(const AttendParams& p, std::size_t element_bytes, std::int64_t first_row,
                 int kv_head, const std::vector<HostRange>& ranges, void* k, void* v,
                 CUstream_st* stream) {
  std::size_t keys = 0;
  for (const HostRange& range : ranges) {
    if (range.end <= range.begin) continue;
    const std::int64_t first = first_row + range.begin, count = range.end - range.begin;
    copy_rows(p.k, element_bytes, first, count, kv_head, p.dk,
              static_cast<std::byte*>(k) + keys * static_cast<std::size_t>(p.dk) * element_bytes,
              stream);
    copy_rows(p.v, element_bytes, first, count, kv_head, p.dv,
              static_cast<std::byte*>(v) + keys * static_cast<std::size_t>(p.dv) * element_bytes,
              stream);
    keys += static_cast<std::size_t>(count);
  }
}

}  // namespace nsa::cuda
