// Launches the three kernels of the fused row for one storage type and shape.
#pragma once

#include "attend_compressed/cuda_fused_attend.cuh"
#include "attend_compressed/cuda_fused_prepare.cuh"
#include "attend_compressed/cuda_fused_select.cuh"

namespace nsa::cuda::compressed {

/// Enqueues a kernel that may take its place on the chip while the one before it ends, and waits
/// for that end by itself (programmatic dependent launch).
inline void launch_behind(void (*kernel)(FusedParams), std::int64_t blocks, int threads,
                          std::size_t shared_bytes, cudaStream_t stream, const FusedParams& p) {
  if (shared_bytes > kPlainSharedBytes) {
    NSA_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shared_bytes)));
  }
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  NSA_CUDA(cudaLaunchKernelEx(&config, kernel, p));
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
  launch_behind(fused_select_kernel<Tile, kPerLane>,
                p.slots * p.score.kv_heads * (Tile::kQueries / kWarps), 32 * kWarps, 0, stream, p);
}

template <class Tile>
void run_pass(const FusedParams& p, int multiprocessors, cudaStream_t stream) {
  const std::int64_t items = p.slots * p.score.kv_heads;
  expects(items * p.tiles * Tile::kRows < std::int64_t{1} << 31, "a pass with less scratch");
  launch_behind(fused_attend_kernel<Tile>, std::min<std::int64_t>(items, multiprocessors),
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
