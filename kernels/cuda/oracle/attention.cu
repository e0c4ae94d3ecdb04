// Whole attention in fp64 over the blocks that a launch says it selected, and the scores by which
// they are judged.
#include "cuda/launch/launch.cuh"
#include "cuda/oracle/attend.cuh"
#include "cuda/oracle/kernels.hpp"

namespace nsa::cuda {
namespace {

using oracle::as_double, oracle::block_sum, oracle::kColumns, oracle::kThreads;

/// Compressed keys that a query at `position` sees: those whose tokens are all there by then.
__device__ int visible_keys(std::int64_t position, int cmp_block, int cmp_stride) {
  const std::int64_t tokens = position + 1;
  return tokens < cmp_block ? 0 : static_cast<int>((tokens - cmp_block) / cmp_stride + 1);
}

__device__ std::int64_t position_of(const Sequence& s, std::int64_t token) {
  return s.kv_len - s.q_len + token - s.q_begin;
}

/// Blocks of a row up to the query; -1 and a block that was named before are empty.
struct RowBlocks {
  const std::int32_t* ids;
  std::int64_t id_stride, position;
  int sel_count, sel_block;

  __device__ int count() const { return sel_count; }
  __device__ KeyRange at(int i) const {
    const std::int64_t id = ids[i * id_stride], begin = id * sel_block;
    if (id < 0 || begin > position) return {0, 0};
    for (int j = 0; j < i; ++j)
      if (ids[j * id_stride] == id) return {0, 0};
    return {static_cast<int>(begin), static_cast<int>(min(begin + sel_block, position + 1))};
  }
  __device__ bool counted_before(int, int) const { return false; }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    attention_kernel(BranchParams p, std::int64_t first, const std::int32_t* rows,
                     double* expected) {
  __shared__ double weights[kThreads], query[kMaxHeadDim];
  const AttendParams& sel = p.sel;
  const int heads = sel.kv_heads * sel.group, dk = sel.dk, dv = sel.dv;
  const std::int64_t row = rows[blockIdx.x / heads], token = first + row;
  const int head = static_cast<int>(blockIdx.x % heads), kv_head = head / sel.group;
  const Sequence s = sequence_of_token(sel.sequences, sel.batch, token);
  const std::int64_t position = position_of(s, token);
  oracle::load_query(head_row<const T>(sel.q, token, head), dk, query);

  const auto attend = [&](const AttendParams& branch, std::int64_t first_row, const auto& ranges) {
    const oracle::HeadKeys<T> keys(branch.k, branch.v, first_row, kv_head);
    return oracle::attend(query, keys, dk, dv, ranges, weights);
  };
  const oracle::OneRange pooled{{0, visible_keys(position, sel.cmp_block, sel.cmp_stride)}};
  const std::int64_t oldest = max(std::int64_t{0}, position - sel.window + 1);
  const oracle::OneRange window{
      {static_cast<int>(oldest), sel.window > 0 ? static_cast<int>(position + 1) : 0}};
  const RowBlocks blocks{
      .ids = sel.blocks + token * sel.blocks_row_stride + kv_head * sel.blocks_head_stride,
      .id_stride = sel.blocks_id_stride,
      .position = position,
      .sel_count = sel.sel_count,
      .sel_block = sel.sel_block};
  const oracle::HeadOutput of_branch[] = {attend(p.cmp, s.cmp_begin, pooled),
                                          attend(sel, s.kv_begin, blocks),
                                          attend(p.win, s.kv_begin, window)};

  const double* gate = p.gates + (token * sel.kv_heads + kv_head) * 3;
  for (int c = 0; c < kColumns; ++c) {
    const int column = static_cast<int>(threadIdx.x) + c * kThreads;
    if (column >= dv) continue;
    double o = 0;
    for (int b = 0; b < 3; ++b) o += gate[b] * of_branch[b].column[c];
    expected[(row * heads + head) * dv + column] = o;
  }
}

/// The larger of all threads' values, the same for all. Called by all of them.
__device__ double block_max(double value, double* shared) {
  __syncthreads();  // what was there before has been read
  shared[threadIdx.x] = value;
  __syncthreads();
  double largest = shared[0];
  for (int i = 1; i < kThreads; ++i) largest = fmax(largest, shared[i]);
  return largest;
}

/// A block per token and KV head. Logits are computed twice: they would need as much room as the
/// sums of the weights over the heads, which a thread keeps for its keys.
template <class T>
__global__ void __launch_bounds__(kThreads)
    scores_kernel(AttendParams p, std::int64_t first, int blocks, double* scores) {
  __shared__ double shared[kThreads], query[kMaxHeadDim];
  auto* weight = reinterpret_cast<double*>(dynamic_shared());  // [visible], over the heads
  const std::int64_t row = blockIdx.x / p.kv_heads, token = first + row;
  const int kv_head = static_cast<int>(blockIdx.x % p.kv_heads);
  const int thread = static_cast<int>(threadIdx.x);
  const Sequence s = sequence_of_token(p.sequences, p.batch, token);
  const int visible = visible_keys(position_of(s, token), p.cmp_block, p.cmp_stride);
  const oracle::HeadKeys<T> keys(p.k, p.v, s.cmp_begin, kv_head);

  for (int i = thread; i < visible; i += kThreads) weight[i] = 0;
  for (int h = 0; h < p.group; ++h) {
    oracle::load_query(head_row<const T>(p.q, token, kv_head * p.group + h), p.dk, query);
    const auto logit = [&](int key) {
      return oracle::logit(query, keys.k + key * keys.k_stride, p.dk, keys.vectors);
    };
    double row_max = -INFINITY, sum = 0;
    for (int i = thread; i < visible; i += kThreads) row_max = fmax(row_max, logit(i));
    row_max = block_max(row_max, shared);
    for (int i = thread; i < visible; i += kThreads) sum += exp(logit(i) - row_max);
    sum = block_sum(sum, shared);
    for (int i = thread; i < visible; i += kThreads) weight[i] += exp(logit(i) - row_max) / sum;
  }
  __syncthreads();

  double* out = scores + (row * p.kv_heads + kv_head) * blocks;
  for (int j = thread; j < blocks; j += kThreads) {
    const int begin = j * p.sel_block, end = begin + p.sel_block;
    // Keys that begin before the block's end and end behind its begin.
    const int oldest = begin < p.cmp_block ? 0 : (begin - p.cmp_block) / p.cmp_stride + 1;
    double score = 0;
    for (int i = oldest; i < visible && i * p.cmp_stride < end; ++i) {
      const int overlap = min(end, i * p.cmp_stride + p.cmp_block) - max(begin, i * p.cmp_stride);
      score += weight[i] * static_cast<double>(overlap) / static_cast<double>(p.cmp_block);
    }
    out[j] = score;
  }
}

}  // namespace

void expect_attention(const BranchParams& p, Dtype dtype, std::int64_t first,
                      const std::int32_t* rows, std::int64_t count, double* expected,
                      CUstream_st* stream) {
  with_storage_type(dtype, [&](auto zero) {
    launch(attention_kernel<decltype(zero)>, count * p.sel.kv_heads * p.sel.group, kThreads, 0,
           stream, p, first, rows, expected);
  });
}

void expect_scores(const AttendParams& p, Dtype dtype, std::int64_t first, std::int64_t count,
                   std::int64_t blocks, double* scores, CUstream_st* stream) {
  const Geometry pooling{.cmp_block = p.cmp_block, .cmp_stride = p.cmp_stride};
  const std::int64_t keys = num_compressed(p.max_kv_len, pooling);
  expects(keys <= kMostScoredKeys, "compressed keys that shared memory has room for");
  const std::size_t shared = static_cast<std::size_t>(keys) * sizeof(double);
  with_storage_type(dtype, [&](auto zero) {
    launch(scores_kernel<decltype(zero)>, count * p.kv_heads, kThreads, shared, stream, p, first,
           static_cast<int>(blocks), scores);
  });
}

}  // namespace nsa::cuda
