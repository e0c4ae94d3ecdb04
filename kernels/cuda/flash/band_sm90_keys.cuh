// The sizes of the kernels of a band on Hopper, and the ring of stages that its keys pass. One
// thread of the computing warps starts the copies, two tiles ahead: a stage is filled anew only
// when all warps left it an iteration ago, so that thread hardly ever waits.
#pragma once

#include "cuda/flash/attend_params.hpp"
#include "cuda/flash/sm90_key_tile.cuh"

namespace nsa::cuda {

/// Sizes of one kernel. A warpgroup has 64 rows.
template <class T, int kDimK, int kDimV, int kWarpgroups, int kBlocksPerSm>
struct BandSm90 {
  using Storage = T;
  static constexpr int kDk = kDimK, kDv = kDimV, kKeys = 64, kBlocks = kBlocksPerSm;
  static constexpr int kRows = 64 * kWarpgroups, kThreads = 128 * kWarpgroups;
  static constexpr int kQBytes = kRows * kDk * 2, kKBytes = kKeys * kDk * 2;
  static constexpr int kStageBytes = kKBytes + kKeys * kDv * 2;
  static constexpr int kAlignment = 1024;  // of a swizzled tile
  static constexpr int kBarrierBytes = 128;
  static constexpr int kRoom = 227 * 1024 / kBlocks - 1024 - kAlignment - kQBytes - kBarrierBytes;
  static constexpr int kStages = kRoom / kStageBytes < 5 ? kRoom / kStageBytes : 5;
  static_assert(kStages >= 4, "three tiles in use and one on its way");
  static constexpr int kLead = 2;  // tiles that are on their way at a time
  static_assert(kDv <= kDk, "the output is staged where the queries were");
  static constexpr int kSharedBytes = kQBytes + kStages * kStageBytes + kBarrierBytes + kAlignment;
};

struct BandParams {
  KeyMaps maps;  // boxes of 64 keys
  AttendParams attend;
};

/// A ring of stages, each a tile of K [64, dk] and of V [64, dv], swizzled, and two barriers: full
/// and empty. Tile j lies in stage j modulo their number. Thread 0 fills it.
template <class Sizes>
struct BandKeys {
  const BandParams& params;
  std::uint32_t stages;  // shared memory, the barriers after them
  int first_row;         // of k and v: where tile 0 begins
  int kv_head;
  int tiles;

  /// All threads see the barriers before anybody uses them.
  __device__ void start() const {
    if (threadIdx.x == 0) {
      for (int j = 0; j < Sizes::kStages; ++j) {
        sm90::barrier_init(full(j), 1);
        sm90::barrier_init(empty(j), Sizes::kThreads / 32);
      }
      sm90::barrier_fence();
    }
    __syncthreads();
  }

  __device__ std::uint32_t stage(int j) const {
    return stages + static_cast<std::uint32_t>(j % Sizes::kStages * Sizes::kStageBytes);
  }
  __device__ std::uint32_t full(int j) const {
    return stages + static_cast<std::uint32_t>(Sizes::kStages * Sizes::kStageBytes +
                                               j % Sizes::kStages * 16);
  }
  __device__ std::uint32_t empty(int j) const { return full(j) + 8; }

  /// One thread starts to load tile j of the band, once all warps are done with what lies there.
  /// Keys after the band come along and are masked.
  __device__ void load(int j) const {
    if (threadIdx.x != 0 || j >= tiles) return;
    if (j >= Sizes::kStages)
      sm90::barrier_wait(empty(j), static_cast<unsigned>(j / Sizes::kStages - 1) & 1);
    sm90::barrier_expect(full(j), Sizes::kStageBytes);
    sm90::copy_key_tile<Sizes>(params.maps, stage(j), kv_head, first_row + j * Sizes::kKeys,
                               full(j));
  }
  /// The calling warp, whose lane 0 this is, needs tile j no more.
  __device__ void release(int j) const { sm90::barrier_arrive(empty(j), 1); }
  /// Waits until tile j is there.
  __device__ void wait(int j) const {
    sm90::barrier_wait(full(j), static_cast<unsigned>(j / Sizes::kStages) & 1);
  }
};

}  // namespace nsa::cuda
