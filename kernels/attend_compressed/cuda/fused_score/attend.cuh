// The fused compressed branch: attention of a tile of queries, all heads of the group together, to
// the compressed keys (FlashAttention, arXiv 2205.14135, with wgmma), which writes the scores of
// the selection blocks on the way. Persistent blocks: one warpgroup loads, two or three compute.
// The scores go to memory un-normalised and a second kernel sums them: of the prototypes, a second
// pass over the keys needs the logits twice, and sums inside of this kernel were no faster with
// heads of 128 and slower with heads of 64. The paper's shape is limited by the tensor pipe, the
// small one by the latency of instructions (docs/results/README.md).
#pragma once

#include "attend_compressed/cuda/fused_score/load.cuh"
#include "attend_compressed/cuda/fused_score/softmax.cuh"
#include "cuda/launch/launch.cuh"
#include "cuda/ptx/numbers.cuh"
#include "cuda/ptx/sm90_wgmma.cuh"

namespace nsa::cuda::compressed {

/// One warpgroup that computes 64 rows of every item.
template <class Tile>
class FusedMath {
 public:
  using T = typename Tile::Storage;
  __device__ FusedMath(const FusedParams& p, FusedShared<Tile>& shared, int warpgroup)
      : p_(p), shared_(shared), warpgroup_(warpgroup), first_row_(64 * warpgroup) {}

  /// The products of a warpgroup are issued in its turn, so that while one waits for the tensor
  /// cores the others work on their logits.
  __device__ void run() {
    sm90::Ring<Tile::kQueryStages> q_ring;
    if (warpgroup_ == Tile::kWarpgroups - 1) sm90::Turns::pass_to(0);
    for (ItemOrder order(p_); order.more(); order.next(), q_ring.next()) {
      shared_.barriers.q_full[q_ring.stage].wait(q_ring.parity);
      const Item& item = shared_.items[q_ring.stage];
      if (item.queries > 0) {
        float o[kSums];
        SoftmaxRows rows;
        attend(item, q_ring.stage, o, rows);
        write_rows(item, rows, o);
      }
      shared_.barriers.q_empty[q_ring.stage].arrive();  // each thread has read the item itself
    }
  }

 private:
  static constexpr int kSums = Tile::kDimV / 2;

  __device__ static int thread() { return static_cast<int>(threadIdx.x) % 128; }
  __device__ static int quad_lane() { return static_cast<int>(threadIdx.x) % 4; }
  /// Row of the item of this thread's row i (0 or 1).
  __device__ int row(int i) const {
    return first_row_ + thread() / 32 * 16 + thread() % 32 / 4 + 8 * i;
  }
  /// Once per warp: it has read what the barrier guards.
  __device__ static void release(sm90::Barrier& barrier) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) barrier.arrive();
  }

  /// The same number in all lanes, which the compiler cannot know by itself: addresses of operands
  /// are then made once per warp.
  __device__ static int uniform(int x) { return __shfl_sync(kWholeWarp, x, 0); }

  __device__ __forceinline__ void issue_keys(int q_stage, int k_stage, float (&s)[64]) {
    const sm90::MatrixDescriptor a(
        sm90::shared_address(shared_.q[uniform(q_stage)] + uniform(first_row_) * 128), 16);
    const sm90::MatrixDescriptor b(sm90::shared_address(shared_.k[uniform(k_stage)]), 16);
#pragma unroll
    for (int step = 0; step < Tile::kDimK / 16; ++step) {
      const int panel = step / 4, inside = step % 4 * 32;
      sm90::wgmma_shared<T>(s, a.at(panel * Tile::kRows * 128 + inside),
                            b.at(panel * Tile::kKeys * 128 + inside), step > 0);
    }
    sm90::wgmma_commit();
  }
  __device__ __forceinline__ void issue_values(int stage, const std::uint32_t (&weights)[8][4],
                                               float (&o)[kSums]) {
    const sm90::MatrixDescriptor b(sm90::shared_address(shared_.v[uniform(stage)]),
                                   Tile::kKeys * 128);
#pragma unroll
    for (int step = 0; step < 8; ++step)
      sm90::wgmma_registers<T>(o, weights[step], b.at(step * 16 * 128));
    sm90::wgmma_commit();
  }

  /// Logits of tile j to weights and scores. References rise only when weights get too large, which
  /// is rare after the first tile, so the row max is not looked for in the others.
  __device__ __forceinline__ void softmax(int j, float (&s)[64], float (&o)[kSums],
                                          SoftmaxRows& rows, TileWeights& tile) {
    const float scale = p_.score.scale_log2;
    if ((j + 1) * Tile::kKeys > visible_[0]) {  // row 1 sees what row 0 sees
      const int first_key = j * Tile::kKeys + 32 * quad_lane();
      mask_keys(s, 0, visible_[0] - first_key);
      mask_keys(s, 1, visible_[1] - first_key);
    }
    bool raise = j == 0;
    do {
      if (raise) {
        float rescale[2];
        raise_references(s, scale, rows, rescale);
#pragma unroll
        for (int n = 0; n < kSums; ++n) o[n] *= rescale[n / 2 % 2];
      }
      weigh<T>(s, scale, rows, tile);
      raise = too_large<T>(tile);
    } while (raise);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      rows.sum[i] += tile.sum[i];
      rows.behind[i] = tile.behind[i];
      const unsigned at = scratch_row_ + 8 * i;
      __stcg(reinterpret_cast<uint4*>(p_.scores) + 4 * at + quad_lane(), tile.scores[i]);
      if (quad_lane() == 0) __stcg(p_.references + at, rows.reference[i]);
    }
    scratch_row_ += Tile::kRows;
  }

  __device__ void begin(const Item& item, float (&o)[kSums]) {
#pragma unroll
    for (int n = 0; n < kSums; ++n) o[n] = 0.0f;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int query = row(i) / Tile::kGroup;
      visible_[i] = fused_visible(item.position + query);
    }
    scratch_row_ = static_cast<unsigned>(item.place * p_.tiles) * Tile::kRows + row(0);
  }
  /// Logits of the item's first tile.
  __device__ __forceinline__ void first_keys(int q_stage, float (&s)[64]) {
    auto& b = shared_.barriers;
    b.k_full[k_ring_.stage].wait(k_ring_.parity);
    sm90::wgmma_fence();
    issue_keys(q_stage, k_ring_.stage, s);
    sm90::wgmma_wait<0>(s);
    release(b.k_empty[k_ring_.stage]);
    k_ring_.next();
  }
  /// Logits of the next tile, and with them the product of this one's weights with V.
  __device__ __forceinline__ void next_keys_and_values(int q_stage, float (&s)[64],
                                                       const TileWeights& tile, float (&o)[kSums]) {
    auto& b = shared_.barriers;
    b.k_full[k_ring_.stage].wait(k_ring_.parity);
    b.v_full[v_ring_.stage].wait(v_ring_.parity);
    sm90::Turns::wait(warpgroup_);
    sm90::pin(o);
    sm90::wgmma_fence();
    issue_keys(q_stage, k_ring_.stage, s);
    issue_values(v_ring_.stage, tile.operands, o);
    sm90::Turns::pass_to((warpgroup_ + 1) % Tile::kWarpgroups);
    sm90::wgmma_wait<1>(s);
    release(b.k_empty[k_ring_.stage]);
    k_ring_.next();
    sm90::wgmma_wait<0>(o);
    release(b.v_empty[v_ring_.stage]);
    v_ring_.next();
  }
  __device__ __forceinline__ void last_values(const TileWeights& tile, float (&o)[kSums]) {
    auto& b = shared_.barriers;
    b.v_full[v_ring_.stage].wait(v_ring_.parity);
    sm90::pin(o);
    sm90::wgmma_fence();
    issue_values(v_ring_.stage, tile.operands, o);
    sm90::wgmma_wait<0>(o);
    release(b.v_empty[v_ring_.stage]);
    v_ring_.next();
  }

  __device__ __forceinline__ void attend(const Item& item, int q_stage, float (&o)[kSums],
                                         SoftmaxRows& rows) {
    begin(item, o);
    const int tiles = item.tiles();
    if (tiles > 0) {
      float s[64];
      TileWeights tile;
      first_keys(q_stage, s);
      for (int j = 0; j + 1 < tiles; ++j) {
        softmax(j, s, o, rows, tile);
        next_keys_and_values(q_stage, s, tile, o);
      }
      softmax(tiles - 1, s, o, rows, tile);
      last_values(tile, o);
    }
    finish_sums(rows);
  }

  /// The output, log-sum-exp, and what the scores are to be measured by. Rows without a key are
  /// zeros and -inf.
  __device__ void write_rows(const Item& item, const SoftmaxRows& rows,
                             const float (&o)[kSums]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int query = row(i) / Tile::kGroup;
      if (query >= item.queries) continue;
      const std::int64_t token = item.token + query;
      const int head = item.kv_head * Tile::kGroup + row(i) % Tile::kGroup;
      const bool empty = visible_[i] == 0;
      const float inverse = empty ? 0.0f : __frcp_rn(rows.sum[i]);
      if (quad_lane() == 0) {
        using Format = ScoreFormat<T>;
        const float log_sum = rows.reference[i] + Format::kWeightShift + __log2f(rows.sum[i]);
        p_.totals[std::int64_t{item.place} * Tile::kRows + row(i)] = log_sum - Format::kScoreShift;
        if (p_.lse)
          p_.lse[token * p_.lse_row_stride + head * p_.lse_head_stride] =
              empty ? -INFINITY : log_sum * kLn2;
      }
      write_output(static_cast<T*>(p_.o) + token * p_.o_row_stride + head * p_.o_head_stride, i,
                   inverse, o);
    }
  }

  __device__ __forceinline__ void write_output(T* to, int i, float inverse,
                                               const float (&o)[kSums]) const {
#pragma unroll
    for (int m = 0; m < Tile::kDimV / 32; ++m) {
      std::uint32_t words[4];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        const int at = 4 * (4 * m + n) + 2 * i;
        words[n] = pack_pair<T>(o[at] * inverse, o[at + 1] * inverse);
      }
      T* piece = to + 32 * m + 8 * quad_lane();
      if (p_.o_vectors) {
        *reinterpret_cast<uint4*>(piece) = make_uint4(words[0], words[1], words[2], words[3]);
      } else {
#pragma unroll
        for (int n = 0; n < 8; ++n)
          piece[n] = from_float<T>(o[4 * (4 * m + n / 2) + 2 * i + n % 2] * inverse);
      }
    }
  }

  const FusedParams& p_;
  FusedShared<Tile>& shared_;
  int warpgroup_, first_row_;
  sm90::Ring<Tile::kStages> k_ring_, v_ring_;
  int visible_[2] = {0, 0};   // compressed blocks that this thread's rows see
  unsigned scratch_row_ = 0;  // where the next tile's scores of row 0 go, in rows; a pass has fewer
                              // than 2^32 of them
};

}  // namespace nsa::cuda::compressed
