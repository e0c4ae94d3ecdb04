// Rule [C] of block ids to ranges, one thread per row, as it is written down.
#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/oracle/kernels.hpp"

namespace nsa::cuda {
namespace {

constexpr int kThreads = 128;

struct OracleRanges {
  const std::int32_t* blocks;
  std::int64_t row_stride, head_stride, id_stride;
  const Sequence* sequences;
  std::int64_t batch, first, rows;  // rows: tokens x kv_heads from token `first` on
  int kv_heads, sel_count;
  std::int64_t sel_block;
};

__global__ void ranges_kernel(OracleRanges p, double* expected) {
  const std::int64_t row = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (row >= p.rows) return;
  const std::int64_t token = p.first + row / p.kv_heads, kv_head = row % p.kv_heads;
  const Sequence s = sequence_of_token(p.sequences, p.batch, token);
  const std::int64_t position = s.kv_len - s.q_len + token - s.q_begin;
  const std::int32_t* ids = p.blocks + token * p.row_stride + kv_head * p.head_stride;
  double* out = expected + row * p.sel_count * 2;

  int pairs = 0;
  std::int64_t last = -1;
  for (int i = 0; i < p.sel_count; ++i) {
    const std::int64_t id = ids[i * p.id_stride];
    const std::int64_t begin = id * p.sel_block;
    const bool in_sequence = id >= 0 && begin < s.kv_len;
    if (!in_sequence || id == last || begin > position) continue;
    last = id;
    const std::int64_t end = min(begin + p.sel_block, position + 1);
    if (pairs == 0 || out[2 * pairs - 1] != static_cast<double>(begin)) {
      out[2 * pairs] = static_cast<double>(begin);
      ++pairs;
    }
    out[2 * pairs - 1] = static_cast<double>(end);
  }
  for (int i = 2 * pairs; i < 2 * p.sel_count; ++i) out[i] = 0;
}

}  // namespace

void expect_ranges(const Problem& problem, const TensorView& blocks, const Sequence* sequences,
                   std::int64_t first, std::int64_t count, double* expected, CUstream_st* stream) {
  const std::int64_t rows = count * problem.kv_heads;
  const OracleRanges params{.blocks = blocks.as<const std::int32_t>(),
                            .row_stride = blocks.stride[0],
                            .head_stride = blocks.stride[1],
                            .id_stride = blocks.stride[2],
                            .sequences = sequences,
                            .batch = problem.batch(),
                            .first = first,
                            .rows = rows,
                            .kv_heads = static_cast<int>(problem.kv_heads),
                            .sel_count = static_cast<int>(problem.geometry.sel_count),
                            .sel_block = problem.geometry.sel_block};
  launch(ranges_kernel, (rows + kThreads - 1) / kThreads, kThreads, 0, stream, params, expected);
}

}  // namespace nsa::cuda
