// The three kernels of the fused row and their launches, for one storage type and shape: images of
// K and V, attention with scores, selection. The later two take their place on the chip while the
// one before still runs (programmatic_launch.cuh): at short lengths launches are what counts.
#pragma once

#include "attend_compressed/cuda/fused_score/attend.cuh"
#include "attend_compressed/cuda/fused_score/prepare.cuh"
#include "attend_compressed/cuda/fused_score/select.cuh"
#include "cuda/launch/programmatic_launch.cuh"

namespace nsa::cuda::compressed {

/// Shared memory at a multiple of 1024 bytes, which the swizzle counts from.
__device__ inline unsigned char* swizzled_shared() {
  extern __shared__ __align__(1024) unsigned char nsa_swizzled_shared[];
  return nsa_swizzled_shared;
}

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    fused_attend_kernel(const __grid_constant__ FusedParams p) {
  auto& shared = *reinterpret_cast<FusedShared<Tile>*>(swizzled_shared());
  auto& b = shared.barriers;
  if (threadIdx.x == 0) {
    constexpr int kWarps = 4 * Tile::kWarpgroups;
    for (int i = 0; i < Tile::kStages; ++i) {
      b.k_full[i].init(1);
      b.v_full[i].init(1);
      b.k_empty[i].init(kWarps);
      b.v_empty[i].init(kWarps);
    }
    for (int i = 0; i < Tile::kQueryStages; ++i) {
      b.q_full[i].init(kQueryLoaders);
      b.q_empty[i].init(32 * kWarps);
    }
    sm90::barrier_fence();
  }
  __syncthreads();
  griddep_launch_dependents();
  griddep_wait();
  const int warpgroup = static_cast<int>(threadIdx.x) / 128;
  if (warpgroup == 0) {
    sm90::give_registers<Tile::kLoadRegisters>();
    if (threadIdx.x == 0) load_tiles(p, shared);
    if (threadIdx.x >= 32) load_all_queries(p, shared, static_cast<int>(threadIdx.x) - 32);
  } else {
    sm90::take_registers<Tile::kMathRegisters>();
    FusedMath<Tile>(p, shared, warpgroup - 1).run();
  }
}

/// Builds the images of K and V.
template <class Tile>
void prepare_images(const FusedParams& p, cudaStream_t stream) {
  launch(prepare_kernel<Tile>, p.key_tiles * p.score.kv_heads * (Tile::kKeys / kPrepareRows),
         kPrepareThreads, 0, stream, p);
}

template <class Tile, int kPerLane>
void select_blocks(const FusedParams& p, cudaStream_t stream) {
  constexpr int kWarps = kSelectWarps<kPerLane>;
  launch_pdl(fused_select_kernel<Tile, kPerLane>,
             p.slots * p.score.kv_heads * (Tile::kQueries / kWarps), 32 * kWarps, 0, stream, p);
}

template <class Tile>
void run_pass(const FusedParams& p, int multiprocessors, cudaStream_t stream) {
  const std::int64_t items = p.slots * p.score.kv_heads;
  expects(items * p.tiles * Tile::kRows < std::int64_t{1} << 31, "a pass with less scratch");
  launch_pdl(fused_attend_kernel<Tile>, std::min<std::int64_t>(items, multiprocessors),
             Tile::kThreads, sizeof(FusedShared<Tile>), stream, p);
  const std::int64_t row = p.tiles * kFusedBlocks;  // most blocks of a row
  if (row <= 256) {
    select_blocks<Tile, 8>(p, stream);
  } else if (row <= 1024) {
    select_blocks<Tile, 32>(p, stream);
  } else {
    select_blocks<Tile, 64>(p, stream);
  }
}

}  // namespace nsa::cuda::compressed
