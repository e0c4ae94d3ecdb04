// A band of keys for a tile of rows on Hopper: FlashAttention (arXiv 2307.08691) with warpgroup
// matrix instructions, two or three warpgroups of 64 rows. The heads of a group are rows of one
// tile, so that a key that is read serves them all, and only tiles of keys that meet the band are
// visited: time grows with the window, not with the sequence. The softmax of one tile of keys runs
// beside the weighted sum of the one before, as in FlashAttention-3 (arXiv 2407.08608), and TMA
// brings the keys. What limits it: docs/results/README.md.
#pragma once

#include "cuda/flash/attend_device.cuh"
#include "cuda/flash/band.cuh"
#include "cuda/flash/band_sm90_keys.cuh"
#include "cuda/flash/band_sm90_softmax.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/copy_async.cuh"
#include "cuda/ptx/sm90_wgmma.cuh"

namespace nsa::cuda {

/// One thread's part of the work on a tile of rows.
template <class Sizes, class Band>
class BandWorker {
  using T = typename Sizes::Storage;
  static constexpr int kDk = Sizes::kDk, kDv = Sizes::kDv, kKeys = Sizes::kKeys;

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
    softmax_.start();
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
      sm90::wgmma_wait<0>();
      weigh(0);
      for (int j = 0; j + 1 < tiles; ++j) {
        keys_.load(j + Sizes::kLead);
        keys_.wait(j + 1);
        settle();
        if (j > 0 && lane() == 0) keys_.release(j - 1);
        multiply_keys(j + 1);
        multiply_values(j);
        sm90::wgmma_wait<1>();
        weigh(j + 1);
      }
      settle();
      multiply_values(tiles - 1);
      sm90::wgmma_wait<0>();
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
    const T* first = at_.first_of<const T>(p_.q);
#pragma unroll
    for (int i = 0; i < Sizes::kRows * kPieces / Sizes::kThreads; ++i) {
      const int n = thread() + i * Sizes::kThreads, r = n / kPieces, piece = n % kPieces;
      const bool exists = at_.holds(r);
      copy_async_16(to + static_cast<std::uint32_t>(sm90::swizzled(Sizes::kRows, r, piece)),
                    first + (at_.offset_of(p_.q, exists ? r : 0) + 8 * piece), exists);
    }
    commit_copies();
    wait_copies<0>();
    sm90::fence_shared();
    __syncthreads();
  }

  __device__ void multiply_keys(int j) {
    const sm90::MatrixDescriptor q(
        sm90::shared_address(q_) + static_cast<std::uint32_t>(warpgroup_) * 64 * 128, 0);
    const sm90::MatrixDescriptor k(keys_.stage(j), 0);
    sm90::wgmma_fence();
#pragma unroll
    for (int d = 0; d < kDk / 16; ++d) {
      const int panel = d / 4, step = d % 4 * 32;
      sm90::wgmma_shared<T>(softmax_.s, q.at(panel * Sizes::kRows * 128 + step),
                            k.at(panel * kKeys * 128 + step), d > 0);
    }
    sm90::wgmma_commit();
  }

  __device__ void multiply_values(int j) {
    const sm90::MatrixDescriptor v(keys_.stage(j) + Sizes::kKBytes, kKeys * 128);
    sm90::wgmma_fence();
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i)
      sm90::wgmma_registers<T>(softmax_.o, softmax_.weights[i], v.at(i * 2048));
    sm90::wgmma_commit();
  }

  /// Turns the logits of tile j into weights. The sum before is still being added to o until the
  /// wait in settle(), and reads the weights before until then.
  __device__ void weigh(int j) {
    const int first = begin_ + j * kKeys;
    mask(first);
    bool raise = first <= whole_begin_;  // rows may see their first key here
    for (;;) {
      if (raise) {
        const bool seen[] = {row_begin_[0] < first, row_begin_[1] < first};
        softmax_.raise(seen, p_.scale_log2);
      }
      if (softmax_.weigh(p_.scale_log2)) break;
      multiply_keys_again(j);
      mask(first);
      raise = true;
    }
  }
  /// Masks what rows do not see of the tile of keys that begins with key `first`.
  __device__ void mask(int first) {
    if (first < whole_begin_) softmax_.template mask<true>(row_begin_, first);
    if (first + kKeys > whole_end_) softmax_.template mask<false>(row_end_, first);
  }
  /// The logits of tile j once more, by one warp: where weights were too large, which is rare, and
  /// the other warps do not wait for it.
  __device__ void multiply_keys_again(int j) {
    const std::uint32_t q = sm90::shared_address(q_), k = keys_.stage(j);
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) softmax_.s[i] = 0.0f;
#pragma unroll 1
    for (int d = 0; d < kDk / 16; ++d) {
      std::uint32_t a[4], b[4];
      load_matrices(a,
                    q + static_cast<std::uint32_t>(sm90::swizzled(
                            Sizes::kRows, first_row_of_warp() + lane() % 16, 2 * d + lane() / 16)));
#pragma unroll
      for (int n = 0; n < kKeys / 8; n += 2) {
        load_matrices(b,
                      k + static_cast<std::uint32_t>(sm90::swizzled(
                              kKeys, 8 * (n + lane() / 16) + lane() % 8, 2 * d + lane() / 8 % 2)));
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          auto& c = *reinterpret_cast<float(*)[4]>(softmax_.s + 4 * (n + h));
          mma_16x8x16<T>(c, a, b[2 * h], b[2 * h + 1]);
        }
      }
    }
  }
  /// A branch lies between this and weigh(): without one, ptxas puts the wait in front of the
  /// exponentials, and they do not run beside the tensor cores.
  __device__ void settle() {
    sm90::wgmma_wait<0>();
    softmax_.settle();
  }

  /// Stages the output where the queries were, so that it leaves in pieces of 16 bytes.
  __device__ void write() {
    softmax_.finish_sums();
    asm volatile("bar.sync %0, 128;" ::"r"(1 + warpgroup_) : "memory");  // queries were read
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float inverse = softmax_.inverse_sum(i);
#pragma unroll
      for (int n = 0; n < kDv / 8; ++n) {
        unsigned char* to = q_ + sm90::swizzled(Sizes::kRows, row(i), n) + 4 * (lane() % 4);
        *reinterpret_cast<std::uint32_t*>(to) = pack_pair<T>(
            softmax_.o[4 * n + 2 * i] * inverse, softmax_.o[4 * n + 2 * i + 1] * inverse);
      }
      if (p_.lse && lane() % 4 == 0 && at_.holds(row(i))) {
        p_.lse[at_.token(row(i)) * p_.lse_row_stride + at_.head(row(i)) * p_.lse_head_stride] =
            softmax_.log_sum(i);
      }
    }
    __syncwarp();
    T* first = at_.first_of<T>(p_.o);
    constexpr int kPieces = kDv / 8;
#pragma unroll
    for (int i = 0; i < 16 * kPieces / 32; ++i) {
      const int n = lane() + 32 * i, r = first_row_of_warp() + n / kPieces, piece = n % kPieces;
      if (at_.holds(r))
        *reinterpret_cast<uint4*>(first + (at_.offset_of(p_.o, r) + 8 * piece)) =
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
  int row_begin_[2], row_end_[2];       // keys that row(i) sees
  BandSoftmax<T, kKeys, kDv> softmax_;  // of row(0), row(1)
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
  const BandParams params{make_key_maps(p, dtype, Sizes::kKeys), p};
  launch(band_sm90_kernel<Sizes, Band>,
         std::int64_t{RowTile::tiles(p, p.group, Sizes::kRows)} * p.kv_heads, Sizes::kThreads,
         Sizes::kSharedBytes, stream, params);
}

}  // namespace nsa::cuda
