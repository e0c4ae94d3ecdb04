// Projections with RoPE in their epilogue (docs/nsa.md 2). A block makes 128 tokens by 128 columns:
// a warp keeps a ring of tiles of x and w filled by the copy engine, two warpgroups multiply them.
// A pair of columns that RoPE turns lies in the registers of one thread. Two blocks share a
// multiprocessor, so that the end of one overlaps the products of the other.
#include <algorithm>

#include "cuda/alignment.hpp"
#include "cuda/attend_device.cuh"
#include "cuda/launch.cuh"
#include "cuda/numbers.cuh"
#include "cuda/sm90_async.cuh"
#include "cuda/sm90_warpgroups.cuh"
#include "cuda/sm90_wgmma.cuh"
#include "cuda/tensor_map.hpp"
#include "project_rope/cuda_fused.hpp"

namespace nsa::project_rope {
namespace {

namespace sm90 = cuda::sm90;

constexpr int kTile = 128;  // tokens, and columns
constexpr int kDepth = 64;  // of model_dim at a time: 128 bytes
constexpr int kStages = 3;  // of the ring
constexpr int kGroups = 2;  // warpgroups that multiply, 64 tokens each
constexpr int kThreads = kGroups * 128 + 32;
constexpr int kTileBytes = kTile * kDepth * 2;

struct FusedParams {
  CUtensorMap x, w;
  RopeParams rope;
  int column_tiles, depths;
};

struct Shared {
  alignas(1024) unsigned char x[kStages][kTileBytes];
  unsigned char w[kStages][kTileBytes];
  sm90::Barrier full[kStages], empty[kStages];
};
constexpr std::size_t kSharedBytes = sizeof(Shared) + 1024;  // and what alignment takes

/// One thread fills the ring.
__device__ void load_tiles(const FusedParams& p, Shared& shared, int token, int column) {
  sm90::Ring<kStages> ring;
  for (int depth = 0; depth < p.depths; ++depth, ring.next()) {
    shared.empty[ring.stage].wait(ring.parity ^ 1);
    sm90::Barrier& full = shared.full[ring.stage];
    full.expect(2 * kTileBytes);
    sm90::copy_box(sm90::shared_address(shared.x[ring.stage]), p.x, depth * kDepth, 0, token,
                   full.address());
    sm90::copy_box(sm90::shared_address(shared.w[ring.stage]), p.w, depth * kDepth, 0, column,
                   full.address());
  }
}

/// The warpgroup's 64 tokens by 128 columns. A stage is given back once the next one's products are
/// on their way.
template <class T>
__device__ __forceinline__ void multiply(const FusedParams& p, Shared& shared, int group,
                                         float (&d)[64]) {
  constexpr std::uint32_t kStep = 16 * 2;  // bytes of the 16 columns of one instruction
  sm90::Ring<kStages> ring;
  int last = 0;
  for (int depth = 0; depth < p.depths; ++depth, ring.next()) {
    shared.full[ring.stage].wait(ring.parity);
    const sm90::MatrixDescriptor x(
        sm90::shared_address(shared.x[ring.stage]) + static_cast<unsigned>(group) * 64 * 128, 0);
    const sm90::MatrixDescriptor w(sm90::shared_address(shared.w[ring.stage]), 0);
    sm90::wgmma_fence();
#pragma unroll
    for (std::uint32_t i = 0; i < kDepth / 16; ++i)
      sm90::wgmma_shared<T>(d, x.at(i * kStep), w.at(i * kStep), depth > 0 || i > 0);
    sm90::wgmma_commit();
    if (depth > 0) {
      sm90::wgmma_wait<1>();
      if (threadIdx.x % 128 == 0) shared.empty[last].arrive();
    }
    last = ring.stage;
  }
  sm90::wgmma_wait<0>(d);
}

/// Where eight columns of the product go: a part, one of its heads and the first column there.
/// Begins at any multiple of 8 and walks on; behind the last part nothing is wanted.
struct Place {
  int part = 0, head = 0, column = 0;

  __device__ Place(const RopeParams& p, int first) {
    while (part < 7 && first >= end_of(p.parts[static_cast<unsigned>(part)])) ++part;
    if (part == 7) return;
    const RopePart& here = p.parts[static_cast<unsigned>(part)];
    head = (first - here.column) / here.dim;
    column = (first - here.column) % here.dim;
  }
  static __device__ int end_of(const RopePart& part) { return part.column + part.heads * part.dim; }
  __device__ void next(const RopeParams& p) {
    if (part == 7) return;
    const RopePart& here = p.parts[static_cast<unsigned>(part)];
    column += 8;
    if (column < here.dim) return;
    column = 0;
    if (++head < here.heads) return;
    head = 0;
    ++part;
  }
};

/// Position of a token in its sequence.
__device__ inline double position_of(const RopeParams& p, std::int64_t token) {
  const Sequence s = cuda::sequence_of_token(p.sequences, p.batch, token);
  return static_cast<double>(s.kv_len - s.q_len + token - s.q_begin);
}

/// Turns one pair. The angle is reduced to a part of a turn in fp64 (fp32 loses 4e-3 rad at
/// position 65,536); behind that the special function's error of 5e-7 is far below 16 bits.
__device__ inline void turn(float& x0, float& x1, double position, double turns_per_position) {
  constexpr float kTurn = 6.2831853F;
  const double turns = position * turns_per_position;
  float sine, cosine;
  __sincosf(static_cast<float>(turns - rint(turns)) * kTurn, &sine, &cosine);
  const float y0 = x0 * cosine - x1 * sine;
  x1 = x0 * sine + x1 * cosine;
  x0 = y0;
}

/// The four lanes of a quad hold pair t of the columns of all four `pairs`; afterwards lane t holds
/// all four pairs of the columns of pairs[t].
__device__ inline uint4 gather_columns(const std::uint32_t (&pairs)[4], int t) {
  std::uint32_t got[4];
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    const int give = t ^ step;  // the lane that wants them is t ^ step too
    const std::uint32_t mine = give == 0   ? pairs[0]
                               : give == 1 ? pairs[1]
                               : give == 2 ? pairs[2]
                                           : pairs[3];
    got[step] = __shfl_xor_sync(0xffffffff, mine, step);
  }
  // got[step] is pair t ^ step
  const auto pair = [&](int i) {
    const int step = t ^ i;
    return step == 0 ? got[0] : step == 1 ? got[1] : step == 2 ? got[2] : got[3];
  };
  return {pair(0), pair(1), pair(2), pair(3)};
}

template <class T>
__device__ inline void store(const RopeParams& p, const Place& place, std::int64_t token,
                             const uint4& columns) {
  const RopePart& part = p.parts[static_cast<unsigned>(place.part)];
  if (!part.out) return;  // an ablation leaves it out
  T* const row =
      static_cast<T*>(part.out) + token * part.row_stride + place.head * part.head_stride;
  *reinterpret_cast<uint4*>(row + place.column) = columns;
}

/// Turns and stores the warpgroup's part of the tile; d as sm90_wgmma.cuh has it.
template <class T>
__device__ void rotate_and_store(const RopeParams& p, std::int64_t first_token, int first_column,
                                 float (&d)[64]) {
  constexpr double kPerTurn = 0.15915494309189533576888376337251436;
  const int lane = static_cast<int>(threadIdx.x) % 32, t = lane % 4;
  const int warp = static_cast<int>(threadIdx.x) % 128 / 32;
  const std::int64_t tokens[2] = {first_token + 16 * warp + lane / 4,
                                  first_token + 16 * warp + lane / 4 + 8};
  double positions[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) positions[i] = position_of(p, min(tokens[i], p.count - 1));
  Place place(p, first_column);
#pragma unroll
  for (int quarter = 0; quarter < 4; ++quarter) {
    Place mine = place;  // where this lane will store
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      if (j == t) mine = place;
      float* const x = d + 4 * (4 * quarter + j);
      if (place.part < 7 && p.parts[static_cast<unsigned>(place.part)].rotated) {
        const double turns = p.frequencies[static_cast<unsigned>(place.column / 2 + t)] * kPerTurn;
        turn(x[0], x[1], positions[0], turns);
        turn(x[2], x[3], positions[1], turns);
      }
      place.next(p);
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      std::uint32_t pairs[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float* const x = d + 4 * (4 * quarter + j) + 2 * i;
        pairs[j] = cuda::pack_pair<T>(x[0], x[1]);
      }
      const uint4 columns = gather_columns(pairs, t);
      if (mine.part < 7 && tokens[i] < p.count) store<T>(p, mine, tokens[i], columns);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads, 2) fused_kernel(const __grid_constant__ FusedParams p) {
  const auto room = reinterpret_cast<std::uintptr_t>(cuda::dynamic_shared());
  Shared& shared = *reinterpret_cast<Shared*>((room + 1023) / 1024 * 1024);
  const int token = static_cast<int>(blockIdx.x) / p.column_tiles * kTile;
  const int column = static_cast<int>(blockIdx.x) % p.column_tiles * kTile;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      shared.full[i].init(1);
      shared.empty[i].init(kGroups);
    }
    sm90::barrier_fence();
  }
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / 128;
  if (group == kGroups) {
    if (threadIdx.x % 32 == 0) load_tiles(p, shared, token, column);
    return;
  }
  float d[64];
  multiply<T>(p, shared, group, d);
  rotate_and_store<T>(p.rope, token + 64 * group, column, d);
}

/// Of boxes of 128 rows and 64 columns.
CUtensorMap map_of(const TensorView& matrix) {
  const cuda::HeadTensor<const void> rows{matrix.data, matrix.stride[0], matrix.stride[0], true};
  return cuda::make_tensor_map(rows, matrix.dtype, matrix.shape[0], 1,
                               static_cast<int>(matrix.shape[1]), kTile);
}

}  // namespace

bool fused_takes(const RopeParams& rope, const TensorView& x, const TensorView& w) {
  return rope.vectors && cuda::rows_are_vectors(x) && cuda::rows_are_vectors(w);
}

void project_and_rotate(const RopeParams& rope, const TensorView& x, const TensorView& w,
                        CUstream_st* stream) {
  FusedParams p{map_of(x), map_of(w), rope, 0, 0};
  const auto tiles = [](std::int64_t n) { return (n + kTile - 1) / kTile; };
  p.column_tiles = static_cast<int>(tiles(w.shape[0]));
  p.depths = static_cast<int>((x.shape[1] + kDepth - 1) / kDepth);
  const auto kernel = x.dtype == Dtype::bf16 ? fused_kernel<__nv_bfloat16> : fused_kernel<__half>;
  cuda::launch(kernel, tiles(x.shape[0]) * p.column_tiles, kThreads, kSharedBytes, stream, p);
}

}  // namespace nsa::project_rope
