// Attention of a decode step as one kernel: a cluster of blocks for each sequence and KV head. The
// compressed keys and the window are shared out over the blocks; all of them then find the selected
// blocks, take some each, and put the branches together. Four barriers of the cluster, nothing in
// device memory in between.
#pragma once

#include "cuda/flash/attend_device.cuh"
#include "cuda/launch/programmatic_launch.cuh"
#include "decode/cuda/step/gate.cuh"
#include "score/cuda/device.cuh"

namespace nsa::cuda::step {

/// Queries of the group: in fp32 times the scale, and as they are stored; zeros up to padded_dk.
template <class T>
__device__ void load_queries(const Params& p, const Shared& s, std::int64_t token, int kv_head) {
  const int rows = (p.group + kTileHeads - 1) / kTileHeads * kTileHeads;
  T* stored = static_cast<T*>(s.queries);
  for (int i = static_cast<int>(threadIdx.x); i < rows * p.layout.padded_dk; i += kThreads) {
    const int head = i / p.layout.padded_dk, column = i % p.layout.padded_dk;
    T number = T(0.0f);
    if (head < p.group && column < p.dk)
      number = head_row<const T>(p.q, token, kv_head * p.group + head)[column];
    if (head < p.group) s.q[i] = to_float(number) * p.scale_log2;
    if constexpr (sizeof(T) == 2) stored[head * (p.layout.padded_dk + kQueryGap) + column] = number;
  }
}

/// What a block of a cluster has to do: its keys of each branch.
struct Work {
  Sequence q, w;
  Share share;
  int rank, visible;
  __device__ Work(const Params& p, int b, int of_rank)
      : q(p.sequences[b]),
        w(p.window_sequences[b]),
        share(visible_blocks(q.kv_len - 1, p.cmp_block, p.cmp_stride), p.ranks, of_rank),
        rank(of_rank),
        visible(visible_blocks(q.kv_len - 1, p.cmp_block, p.cmp_stride)) {}
  __device__ KeyRows keys_of(const Params& p, const Shared& s, Branch branch, int& count) const {
    if (branch == kCompressed) {
      count = share.count;
      return {.first = q.cmp_begin + share.first};
    }
    if (branch == kWindow) {
      const int seen = static_cast<int>(min(static_cast<std::int64_t>(p.window), w.kv_len));
      const int each = (seen + p.ranks - 1) / p.ranks, first = min(rank * each, seen);
      count = min(each, seen - first);
      return {.first = w.kv_begin + w.kv_len - seen + first};
    }
    count = max((p.sel_count - rank + p.ranks - 1) / p.ranks, 0) * p.sel_block;
    return {.first = q.kv_begin,
            .blocks = s.blocks + rank,
            .ranks = p.ranks,
            .sel_block = p.sel_block,
            .reciprocal = p.sel_reciprocal,
            .kv_len = q.kv_len};
  }
};

template <class T, bool kVectors>
__global__ void __launch_bounds__(kThreads, 1) step_kernel(const __grid_constant__ Params p) {
  griddep_wait();
  const cg::cluster_group cluster = cg::this_cluster();
  Shared s = shared_of(p.layout);
  const int rank = static_cast<int>(blockIdx.x) % p.ranks;
  const int pair = static_cast<int>(blockIdx.x) / p.ranks;
  const int kv_head = pair % p.kv_heads;
  const Work work(p, pair / p.kv_heads, rank);
  const std::int64_t token = work.q.q_begin;
  load_queries<T>(p, s, token, kv_head);
  __syncthreads();
#pragma unroll 1  // one copy of the code: each part of it runs once or twice in a launch
  for (int part = 0; part < 3; ++part) {
    const Branch branch = part == 0 ? kCompressed : part == 1 ? kWindow : kSelected;
    if (branch == kSelected) {
      make_gates<T, kVectors>(p, s);
      cluster.sync();
      make_factors(sums_of(p, s, kCompressed), p.group, p.ranks);
      make_factors(sums_of(p, s, kWindow), p.group, p.ranks);
      __syncthreads();
      select_blocks(p, s, work.share, work.visible, work.q.kv_len - 1);
    }
    int count = 0;
    const KeyRows keys = work.keys_of(p, s, branch, count);
    attend_part<T, kVectors>(p, s, kv_head, branch, count, keys);
  }
  cluster.sync();
  make_factors(sums_of(p, s, kSelected), p.group, p.ranks);
  __syncthreads();
  store_slice<T>(p, s, rank, token, kv_head);
  if (p.blocks && rank == 0) {
    for (int i = static_cast<int>(threadIdx.x); i < p.sel_count; i += kThreads) {
      p.blocks[token * p.blocks_row_stride + kv_head * p.blocks_head_stride +
               i * p.blocks_id_stride] = s.blocks[i];
    }
  }
  cluster.sync();  // the others read this block's shared memory
}

template <class T, bool kVectors>
void launch_kernel(const Params& p, int batch, CUstream_st* stream) {
  const auto kernel = step_kernel<T, kVectors>;
  const auto bytes = static_cast<std::size_t>(shared_bytes(p.layout));
  allow_shared_bytes(reinterpret_cast<const void*>(kernel), bytes);
  if (p.ranks > 8)
    NSA_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = static_cast<unsigned>(p.ranks);
  attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(batch * p.kv_heads * p.ranks));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 2;
  NSA_CUDA(cudaLaunchKernelEx(&config, kernel, p));
}

template <class T>
void launch_step(const Params& p, int batch, bool vectors, CUstream_st* stream) {
  if (vectors) return launch_kernel<T, true>(p, batch, stream);
  launch_kernel<T, false>(p, batch, stream);
}

}  // namespace nsa::cuda::step
