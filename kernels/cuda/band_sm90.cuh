// A band of keys for a tile of rows on Hopper: FlashAttention (arXiv 2307.08691) with warpgroup
// matrix instructions. The softmax of one tile of keys runs beside the weighted sum of the one
// before, as in FlashAttention-3 (arXiv 2407.08608). The copy engine brings the keys. Only tiles of
// keys that meet the band are visited.
#pragma once

#include "cuda/attend_device.cuh"
#include "cuda/band.cuh"
#include "cuda/band_sm90_keys.cuh"
#include "cuda/copy_async.cuh"
#include "cuda/launch.cuh"
#include "cuda/mma.cuh"
#include "cuda/sm90_wgmma.cuh"
#include "cuda/tensor_map.hpp"

namespace nsa::cuda {

/// One thread's part of the work on a tile of rows.
template <class Sizes, class Band>
class BandWorker {
  using T = typename Sizes::Storage;
  static constexpr int kDk = Sizes::kDk, kDv = Sizes::kDv, kKeys = Sizes::kKeys;

  /// By how much (log2) a logit may pass the reference: weights stay below 2^8, which fp16 holds.
  static constexpr float kSlack = 8.0f;

 public:
  __device__ BandWorker(const BandParams& params, const RowTile& at, unsigned char* shared)
      : p_(params.attend),
        at_(at),
        q_(shared),
        warpgroup_(__shfl_sync(0xffffffffu, thread() / 128, 0)),
        begin_(Band::begin(p_, at.position(0))),
        end_(Band::end(p_, at.position(Sizes::kRows - 1))),
        whole_begin_(Band::begin(p_, at.position(Sizes::kRows - 1))),
        whole_end_(Band::end(p_, at.position(0))),
        keys_{params, sm90::shared_address(shared) + Sizes::kQBytes,
              static_cast<int>(Band::first_row(at.sequence)) + begin_, at.kv_head,
              end_ > begin_ ? (end_ - begin_ + kKeys - 1) / kKeys : 0} {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int t = at.position(row(i));
      row_begin_[i] = Band::begin(p_, t);
      row_end_[i] = Band::end(p_, t);
    }
#pragma unroll
    for (int i = 0; i < kDv / 2; ++i) o_[i] = 0.0f;
  }

  __device__ void run() {
    const int tiles = keys_.tiles;
    if (tiles > 0) {
      keys_.start();
#pragma unroll
      for (int j = 0; j < Sizes::kLead; ++j) keys_.load(j);
      load_queries();
      keys_.wait(0);
      multiply_keys(0);
      sm90::wait<0>();
      weigh(0);
      for (int j = 0; j + 1 < tiles; ++j) {
        keys_.load(j + Sizes::kLead);
        keys_.wait(j + 1);
        settle();
        if (j > 0 && lane() == 0) keys_.release(j - 1);
        multiply_keys(j + 1);
        multiply_values(j);
        sm90::wait<1>();
        weigh(j + 1);
      }
      settle();
      multiply_values(tiles - 1);
      sm90::wait<0>();
    }
    write();
  }

 private:
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int lane() { return thread() % 32; }
  __device__ static int first_row_of_warp() { return thread() / 32 * 16; }
  __device__ static int row(int i) { return first_row_of_warp() + lane() / 4 + 8 * i; }

  __device__ void load_queries() const {
    constexpr int kPieces = kDk / 8;
    const std::uint32_t to = sm90::shared_address(q_);
#pragma unroll
    for (int i = 0; i < Sizes::kRows * kPieces / Sizes::kThreads; ++i) {
      const int n = thread() + i * Sizes::kThreads, r = n / kPieces, piece = n % kPieces;
      const bool exists = at_.holds(r);
      copy_async_16(to + static_cast<std::uint32_t>(sm90::swizzled(Sizes::kRows, r, piece)),
                    at_.row_of<const T>(p_.q, exists ? r : 0) + 8 * piece, exists);
    }
    commit_copies();
    wait_copies<0>();
    sm90::fence_shared();
    __syncthreads();
  }

  __device__ void multiply_keys(int j) {
    const std::uint32_t q =
        sm90::shared_address(q_) + static_cast<std::uint32_t>(warpgroup_) * 64 * 128;
    const std::uint32_t k = keys_.stage(j);
    sm90::fence_registers();
#pragma unroll
    for (int d = 0; d < kDk / 16; ++d) {
      const std::uint32_t block = d / 4, step = d % 4 * 32;
      sm90::multiply_shared<T>(s_, sm90::descriptor(q + block * Sizes::kRows * 128 + step, 0),
                               sm90::descriptor(k + block * kKeys * 128 + step, 0), d > 0);
    }
    sm90::commit();
  }

  __device__ void multiply_values(int j) {
    const std::uint32_t v = keys_.stage(j) + Sizes::kKBytes;
    sm90::fence_registers();
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i)
      sm90::multiply_registers<T>(o_, weights_[i], sm90::descriptor(v + i * 2048, kKeys * 128));
    sm90::commit();
  }

  /// Turns the logits of tile j into weights against the references. The sum before is still being
  /// added to o_ until the wait, and reads weights_ until then.
  __device__ void weigh(int j) {
    const int first = begin_ + j * kKeys;
    if (first < whole_begin_) hide<true>(first);
    if (first + kKeys > whole_end_) hide<false>(first);
    float largest[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      largest[i] = s_[2 * i];
#pragma unroll
      for (int n = 0; n < 8; ++n)
        largest[i] = fmaxf(largest[i], fmaxf(s_[4 * n + 2 * i], s_[4 * n + 2 * i + 1]));
      largest[i] *= p_.scale_log2;
    }
    raised_ = __any_sync(0xffffffffu, largest[0] > limit_[0] || largest[1] > limit_[1]) != 0;
    if (raised_) raise(largest);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int c = 4 * n + 2 * i; c < 4 * n + 2 * i + 2; ++c) {
          s_[c] = exp2_fast(fmaf(s_[c], p_.scale_log2, -reference_[i]));
          l_[i] += s_[c];
        }
      }
    }
  }

  /// Once the sum before is there: scales it where a reference was raised, and makes the weights
  /// operands. A branch lies between this and weigh(): without one, ptxas puts the wait in front of
  /// the exponentials, and they do not run beside the tensor cores.
  __device__ void settle() {
    sm90::wait<0>();
    if (raised_) {
#pragma unroll
      for (int n = 0; n < kDv / 8; ++n) {
#pragma unroll
        for (int c = 0; c < 4; ++c) o_[4 * n + c] *= shrink_[c / 2];
      }
    }
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i) {
#pragma unroll
      for (int h = 0; h < 4; ++h)
        weights_[i][h] = pack_pair<T>(s_[8 * i + 2 * h], s_[8 * i + 2 * h + 1]);
    }
  }

  /// Makes the largest logits of the tile the references, where they are larger. Rare: a logit may
  /// pass its reference by kSlack before that.
  __device__ void raise(const float (&largest)[2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float x = fmaxf(largest[i], __shfl_xor_sync(0xffffffffu, largest[i], 1));
      x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
      const bool first_key = limit_[i] == -INFINITY;  // of this row
      shrink_[i] = 1.0f;
      if (x == -INFINITY && first_key) continue;  // still none
      const float raised = first_key ? x : fmaxf(x, reference_[i]);
      shrink_[i] = first_key ? 0.0f : exp2_fast(reference_[i] - raised);
      reference_[i] = raised;
      limit_[i] = raised + kSlack;
      l_[i] *= shrink_[i];
    }
  }

  /// Hides the keys before the first that a row sees, or those behind the last.
  template <bool kBefore>
  __device__ void hide(int first) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int edge = (kBefore ? row_begin_[i] : row_end_[i]) - first - 2 * (lane() % 4);
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          if (kBefore == (8 * n + e < edge)) s_[4 * n + 2 * i + e] = -INFINITY;
        }
      }
    }
  }

  /// Volatile, so that it stays in front of the wait for the sum before.
  __device__ static float exp2_fast(float x) {
    float y;
    asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }

  /// Stages the output where the queries were, so that it leaves in pieces of 16 bytes.
  __device__ void write() {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      l_[i] += __shfl_xor_sync(0xffffffffu, l_[i], 1);
      l_[i] += __shfl_xor_sync(0xffffffffu, l_[i], 2);
    }
    asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup_) : "memory");  // queries were read
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float inverse = l_[i] == 0.0f ? 0.0f : __fdividef(1.0f, l_[i]);
#pragma unroll
      for (int n = 0; n < kDv / 8; ++n) {
        unsigned char* to = q_ + sm90::swizzled(Sizes::kRows, row(i), n) + 4 * (lane() % 4);
        *reinterpret_cast<std::uint32_t*>(to) =
            pack_pair<T>(o_[4 * n + 2 * i] * inverse, o_[4 * n + 2 * i + 1] * inverse);
      }
      if (p_.lse && lane() % 4 == 0 && at_.holds(row(i))) {
        p_.lse[at_.token(row(i)) * p_.lse_row_stride + at_.head(row(i)) * p_.lse_head_stride] =
            l_[i] == 0.0f ? -INFINITY : (reference_[i] + log2f(l_[i])) * kLn2;
      }
    }
    __syncwarp();
    constexpr int kPieces = kDv / 8;
#pragma unroll
    for (int i = 0; i < 16 * kPieces / 32; ++i) {
      const int n = lane() + 32 * i, r = first_row_of_warp() + n / kPieces, piece = n % kPieces;
      if (at_.holds(r))
        *reinterpret_cast<uint4*>(at_.row_of<T>(p_.o, r) + 8 * piece) =
            *reinterpret_cast<const uint4*>(q_ + sm90::swizzled(Sizes::kRows, r, piece));
    }
  }

  const AttendParams& p_;
  const RowTile& at_;
  unsigned char* q_;             // [rows, dk], shared
  int warpgroup_;                // the same register for all threads of a warp
  int begin_, end_;              // keys that some row sees
  int whole_begin_, whole_end_;  // keys that every row sees
  BandKeys<Sizes> keys_;
  int row_begin_[2], row_end_[2];            // keys that row(i) sees
  float s_[32];                              // logits, then weights; rows row(0), row(1)
  std::uint32_t weights_[kKeys / 16][4];     // as operands
  float o_[kDv / 2];                         // column 8 n + 2 (lane % 4) + {0, 1} of both rows
  float reference_[2] = {0.0f, 0.0f};        // of each row, in log2 units: what weights are against
  float limit_[2] = {-INFINITY, -INFINITY};  // largest logit that needs no new reference
  bool raised_ = false;                      // by the last tile; then o_ has to shrink
  float shrink_[2] = {1.0f, 1.0f};
  float l_[2] = {0.0f, 0.0f};  // sum of weights; this thread's share
};

template <class Sizes, class Band>
__global__ void __launch_bounds__(Sizes::kThreads, Sizes::kBlocks)
    band_sm90_kernel(const __grid_constant__ BandParams p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL  // wgmma exists on this target only; launched on no other
  const RowTile at(p.attend, p.attend.group, Sizes::kRows);
  if (at.first_row >= at.rows) return;
  unsigned char* shared = dynamic_shared();
  shared += (0u - sm90::shared_address(shared)) % Sizes::kAlignment;
  BandWorker<Sizes, Band>(p, at, shared).run();
#else
  __trap();
#endif
}

template <class Sizes, class Band>
void launch_band_sm90(const AttendParams& p, Dtype dtype, cudaStream_t stream) {
  const BandParams params{
      make_tensor_map(p.k, dtype, p.context_tokens, p.kv_heads, p.dk, Sizes::kKeys),
      make_tensor_map(p.v, dtype, p.context_tokens, p.kv_heads, p.dv, Sizes::kKeys), p};
  launch(band_sm90_kernel<Sizes, Band>,
         std::int64_t{RowTile::tiles(p, p.group, Sizes::kRows)} * p.kv_heads, Sizes::kThreads,
         Sizes::kSharedBytes, stream, params);
}

}  // namespace nsa::cuda
