// `materialised`: logits, p_cmp, block scores and top-n as four kernels with each result in memory,
// everything in fp32: any shape. Queries go in chunks, so that memory is bounded. `p_cmp_bf16` and
// `p_cmp_fp16` store p_cmp in 16 bits, `p_slc_bf16` the block scores; top-n stays fp32.
#include <algorithm>
#include <type_traits>

#include "cuda/launch/launch.cuh"
#include "cuda/ptx/numbers.cuh"
#include "score/cuda/device.cuh"
#include "score/cuda/materialised/workspace.hpp"

namespace nsa::cuda {
namespace {

constexpr int kTileRows = 32, kTileKeys = 64, kTileDims = 32, kThreads = 128;

/// Queries [first, first + count) of the packed tensors, and the scratch of that chunk.
struct Chunk {
  std::int64_t first, count;
  float* logits;         // [count, q_heads, columns], scaled for exp2
  void* p_cmp;           // [count, q_heads, columns]; the same memory where it is fp32
  void* scores;          // [count, kv_heads, blocks], fp32 or bf16
  std::int64_t columns;  // most visible compressed blocks
  std::int64_t blocks;
};

/// Loads rows of a tile transposed, to[dim][row]; zeros past `rows` and `dims`.
template <class T, int kRows, class Source>
__device__ void load_transposed(float (&to)[kTileDims][kRows + 4], int rows, int dims,
                                Source source) {
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kTileDims; i += kThreads) {
    const int row = i / kTileDims, dim = i % kTileDims;
    to[dim][row] = row < rows && dim < dims ? to_float(source(row)[dim]) : 0.0f;
  }
}

/// Rows (query, head of the group) of one KV head, counted from those of `token`, and keys of one
/// sequence.
struct LogitTile {
  std::int64_t token;
  int kv_head;
  int first_row, rows;  // 32 at most
  int first_key, keys;  // 64 at most
};

/// Logits of a tile.
template <class T>
__device__ void tile_logits(const ScoreParams& p, const Chunk& chunk, const Sequence& s,
                            const LogitTile& tile) {
  __shared__ float q_tile[kTileDims][kTileRows + 4];
  __shared__ float k_tile[kTileDims][kTileKeys + 4];
  const int row0 = static_cast<int>(threadIdx.x) / 16 * 4;
  const int key0 = static_cast<int>(threadIdx.x) % 16 * 4;
  float sum[4][4] = {};
  const auto q_row = [&](int r) {
    const int row = tile.first_row + r;
    return static_cast<const T*>(p.q) + (tile.token + row / p.group) * p.q_row_stride +
           (tile.kv_head * p.group + row % p.group) * p.q_head_stride;
  };
  const auto k_row = [&](int r) {
    return static_cast<const T*>(p.k) + (s.cmp_begin + tile.first_key + r) * p.k_row_stride +
           tile.kv_head * p.k_head_stride;
  };
  for (int dim = 0; dim < p.dk; dim += kTileDims) {
    const int dims = min(p.dk - dim, kTileDims);
    __syncthreads();
    load_transposed<T, kTileRows>(q_tile, tile.rows, dims, [&](int r) { return q_row(r) + dim; });
    load_transposed<T, kTileKeys>(k_tile, tile.keys, dims, [&](int r) { return k_row(r) + dim; });
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kTileDims; ++d) {
      const float4 a = *reinterpret_cast<const float4*>(&q_tile[d][row0]);
      const float4 b = *reinterpret_cast<const float4*>(&k_tile[d][key0]);
      const float x[4] = {a.x, a.y, a.z, a.w}, y[4] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int i = 0; i < 16; ++i) sum[i / 4][i % 4] = fmaf(x[i / 4], y[i % 4], sum[i / 4][i % 4]);
    }
  }
  for (int i = 0; i < 16; ++i) {
    const int r = row0 + i / 4, key = key0 + i % 4;
    if (r >= tile.rows || key >= tile.keys) continue;
    const int row = tile.first_row + r;
    const std::int64_t at = (tile.token - chunk.first + row / p.group) * p.kv_heads * p.group +
                            tile.kv_head * p.group + row % p.group;
    chunk.logits[at * chunk.columns + tile.first_key + key] = sum[i / 4][i % 4] * p.scale_log2;
  }
}

/// A block: some neighbouring tokens of one KV head against 64 keys; a sequence at a time.
template <class T>
__global__ void __launch_bounds__(kThreads)
    logits_kernel(ScoreParams p, Chunk chunk, int tile_tokens) {
  const int kv_head = static_cast<int>(blockIdx.x % p.kv_heads);
  const int first_key = static_cast<int>(blockIdx.y) * kTileKeys;
  std::int64_t token = chunk.first + blockIdx.x / p.kv_heads * tile_tokens;
  const std::int64_t end = min(token + tile_tokens, chunk.first + chunk.count);
  while (token < end) {
    const Sequence s = sequence_of_token(p.sequences, p.batch, token);
    const std::int64_t stop = min(end, s.q_begin + s.q_len);
    const int keys = min(
        visible_blocks(position_of(s, stop - 1), p.cmp_block, p.cmp_stride) - first_key, kTileKeys);
    const int all_rows = static_cast<int>(stop - token) * p.group;
    for (int row = 0; keys > 0 && row < all_rows; row += kTileRows)
      tile_logits<T>(p, chunk, s,
                     {.token = token,
                      .kv_head = kv_head,
                      .first_row = row,
                      .rows = min(all_rows - row, kTileRows),
                      .first_key = first_key,
                      .keys = keys});
    token = stop;
  }
}

__device__ float warp_max(float x) {
  for (int step = 16; step; step /= 2) x = fmaxf(x, __shfl_xor_sync(kWholeWarp, x, step));
  return x;
}
__device__ float warp_sum(float x) {
  for (int step = 16; step; step /= 2) x += __shfl_xor_sync(kWholeWarp, x, step);
  return x;
}

/// p_cmp: a warp per row (query, head).
template <class P>
__global__ void __launch_bounds__(kThreads) softmax_kernel(ScoreParams p, Chunk chunk) {
  const int heads = p.kv_heads * p.group, lane = lane_of_warp();
  const std::int64_t row = blockIdx.x * std::int64_t{kThreads / 32} + threadIdx.x / 32;
  if (row >= chunk.count * heads) return;
  const std::int64_t token = chunk.first + row / heads;
  const Sequence s = sequence_of_token(p.sequences, p.batch, token);
  const int visible = visible_blocks(position_of(s, token), p.cmp_block, p.cmp_stride);
  const float* logits = chunk.logits + row * chunk.columns;
  P* out = static_cast<P*>(chunk.p_cmp) + row * chunk.columns;
  float largest = -INFINITY, sum = 0.0f;
  for (int i = lane; i < visible; i += 32) largest = fmaxf(largest, logits[i]);
  largest = warp_max(largest);
  for (int i = lane; i < visible; i += 32) sum += exp2f(logits[i] - largest);
  sum = warp_sum(sum);
  for (int i = lane; i < visible; i += 32) out[i] = from_float<P>(exp2f(logits[i] - largest) / sum);
}

/// p_slc summed over the group: a thread per block that competes (docs/nsa.md 4 and 5).
template <class P, class S>
__global__ void __launch_bounds__(kThreads) block_scores_kernel(ScoreParams p, Chunk chunk) {
  const std::int64_t row = blockIdx.x;  // query, KV head
  const std::int64_t token = chunk.first + row / p.kv_heads;
  const Sequence s = sequence_of_token(p.sequences, p.batch, token);
  const std::int64_t position = position_of(s, token);
  const RowPlan plan(position, p.sel_block, p.sel_count);
  if (plan.takes_all()) return;
  const int visible = visible_blocks(position, p.cmp_block, p.cmp_stride);
  const P* p_cmp = static_cast<const P*>(chunk.p_cmp) + row * p.group * chunk.columns;
  const float share = 1.0f / static_cast<float>(p.cmp_block);
  for (int block = 1 + static_cast<int>(threadIdx.x); block < plan.end(); block += kThreads) {
    const std::int64_t begin = std::int64_t{block} * p.sel_block, end = begin + p.sel_block;
    const std::int64_t before = max(begin - p.cmp_block + p.cmp_stride, std::int64_t{0});
    float score = 0.0f;
    for (std::int64_t i = before / p.cmp_stride; i < visible && i * p.cmp_stride < end; ++i) {
      const std::int64_t from = max(i * p.cmp_stride, begin);
      const std::int64_t to = min(i * p.cmp_stride + p.cmp_block, end);
      float sum = 0.0f;
      for (int h = 0; h < p.group; ++h) sum += to_float(p_cmp[h * chunk.columns + i]);
      score = fmaf(sum, static_cast<float>(to - from) * share, score);
    }
    static_cast<S*>(chunk.scores)[row * chunk.blocks + block] = from_float<S>(score);
  }
}

template <class S>
__global__ void __launch_bounds__(kThreads) top_blocks_kernel(ScoreParams p, Chunk chunk) {
  __shared__ Candidate scratch[kThreads / 32][32];
  const std::int64_t row = blockIdx.x * std::int64_t{kThreads / 32} + threadIdx.x / 32;
  if (row >= chunk.count * p.kv_heads) return;
  const std::int64_t token = chunk.first + row / p.kv_heads;
  const Sequence s = sequence_of_token(p.sequences, p.batch, token);
  const RowPlan plan(position_of(s, token), p.sel_block, p.sel_count);
  const BlockRow out = block_row(p, token, static_cast<int>(row % p.kv_heads));
  write_forced(plan, out);
  if (plan.takes_all()) return write_all(plan, out);
  const LaneKeys<S> keys(static_cast<const S*>(chunk.scores) + row * chunk.blocks, plan.end());
  write_best(keys, keys.largest(), plan, out, scratch[threadIdx.x / 32]);
}

template <class T, class P, class S>
void run_chunk(const ScoreParams& p, const Chunk& chunk, cudaStream_t stream) {
  const std::int64_t rows = chunk.count * p.kv_heads;
  const int tokens = std::max(1, kTileRows / p.group);
  const std::int64_t tiles = (chunk.count + tokens - 1) / tokens * p.kv_heads;
  const std::int64_t key_tiles = (chunk.columns + kTileKeys - 1) / kTileKeys;
  expects(tiles <= 0x7fffffff && key_tiles <= 0xffff, "a grid that fits");
  constexpr int kWarps = kThreads / 32;
  if (key_tiles > 0) {
    logits_kernel<T><<<dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(key_tiles)),
                       kThreads, 0, stream>>>(p, chunk, tokens);
    NSA_CUDA(cudaGetLastError());
    launch(softmax_kernel<P>, (rows * p.group + kWarps - 1) / kWarps, kThreads, 0, stream, p,
           chunk);
  }
  launch(block_scores_kernel<P, S>, rows, kThreads, 0, stream, p, chunk);
  launch(top_blocks_kernel<S>, (rows + kWarps - 1) / kWarps, kThreads, 0, stream, p, chunk);
}

template <class P, class S = float>
void materialised(const LaunchArgs& args) {
  const ScoreParams p = make_score_params(args, ScoreTensors::of(args));
  const WorkspaceScope scope(args.workspace);
  const score::ChunkSizes sizes(args.problem, sizeof(P));
  Chunk chunk{};
  chunk.columns = sizes.columns;
  chunk.blocks = sizes.blocks;
  chunk.logits = args.workspace.take<float>(sizes.queries * sizes.logits).data();
  chunk.p_cmp =
      std::is_same_v<P, float>
          ? static_cast<void*>(chunk.logits)
          : args.workspace.take(static_cast<std::size_t>(sizes.queries * sizes.logits) * sizeof(P));
  chunk.scores = args.workspace.take<float>(sizes.queries * sizes.scores).data();
  const std::int64_t tokens = args.problem.total_tokens();
  for (chunk.first = 0; chunk.first < tokens; chunk.first += sizes.queries) {
    chunk.count = std::min(sizes.queries, tokens - chunk.first);
    with_storage_type(args.problem.dtype,
                      [&](auto zero) { run_chunk<decltype(zero), P, S>(p, chunk, args.stream); });
  }
}

}  // namespace
}  // namespace nsa::cuda

namespace nsa::score {

extern constinit const LaunchFunction kCudaMaterialised = cuda::materialised<float>;
extern constinit const LaunchFunction kCudaPCmpBf16 = cuda::materialised<__nv_bfloat16>;
extern constinit const LaunchFunction kCudaPCmpFp16 = cuda::materialised<__half>;
extern constinit const LaunchFunction kCudaPSlcBf16 = cuda::materialised<float, __nv_bfloat16>;

}  // namespace nsa::score
