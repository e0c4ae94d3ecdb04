// What FlashInfer's host-side planner would make and copy, made on the device instead: no copy, no
// wait, and a captured graph follows new lengths.
#include <climits>

#include "cuda/launch/launch.cuh"
#include "vendor/flashinfer/flashinfer.hpp"

namespace nsa::vendor {
namespace {

constexpr int kThreads = 128;

/// Sequence b owns the tiles from here on, with one to spare, so that nothing has to be summed.
__host__ __device__ unsigned first_tile(std::int64_t q_begin, int group, std::int64_t b) {
  return static_cast<unsigned>(q_begin * group / kFlashInferRows + b);
}

__global__ void lists_kernel(const Sequence* sequences, std::int64_t batch, int group,
                             bool compressed, TileLists lists) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i == 0) *lists.chunk = INT_MAX;
  if (i < batch) {
    const Sequence& s = sequences[i];
    lists.first_query[i] = static_cast<std::int32_t>(s.q_begin);
    lists.first_key[i] = static_cast<std::int32_t>(compressed ? s.cmp_begin : s.kv_begin);
  }
  if (i >= lists.tiles) return;
  const unsigned slot = lists.tiles - 1 - i;  // late queries have more keys: they come first
  std::int64_t low = 0, high = batch - 1;
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (first_tile(sequences[middle].q_begin, group, middle) <= slot) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const unsigned tile = slot - first_tile(sequences[low].q_begin, group, low);
  lists.request[i] = static_cast<std::int32_t>(low);
  lists.tile[i] = static_cast<std::int32_t>(tile);
  lists.key_tile[i] = 0;
  lists.valid[i] = static_cast<std::int64_t>(tile) * kFlashInferRows < sequences[low].q_len * group;
}

/// An empty row of FlashInfer's has the logarithm of a sum of masked logits, which are -5e4.
__global__ void lse_kernel(const float* lse2, float* lse, std::int64_t rows, int heads,
                           std::int64_t row_stride, std::int64_t head_stride) {
  constexpr float kEmpty = -4e4f, kLn2 = 0.69314718f;
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= rows * heads) return;
  const float x = lse2[i];
  lse[i / heads * row_stride + i % heads * head_stride] = x < kEmpty ? -INFINITY : x * kLn2;
}

}  // namespace

std::uint32_t tiles_of(const cuda::AttendParams& p) {
  return first_tile(p.tokens, p.group, p.batch);
}

void make_tile_lists(const cuda::AttendParams& p, Band band, const TileLists& lists,
                     CUstream_st* stream) {
  const std::int64_t items = std::max<std::int64_t>(lists.tiles, p.batch);
  cuda::launch(lists_kernel, (items + kThreads - 1) / kThreads, kThreads, 0, stream, p.sequences,
               p.batch, p.group, band == Band::compressed, lists);
}

void convert_lse(const float* lse2, const cuda::AttendParams& p, CUstream_st* stream) {
  const int heads = p.kv_heads * p.group;
  cuda::launch(lse_kernel, (p.tokens * heads + kThreads - 1) / kThreads, kThreads, 0, stream, lse2,
               p.lse, p.tokens, heads, p.lse_row_stride, p.lse_head_stride);
}

}  // namespace nsa::vendor
