// What half a warp does for a row of the tile: its gates once more, the gradients of its branches,
// and the way back through softmax, second layer and activation to the queries.
#pragma once

#include "gate_combine/cuda/gate_fused_backward/tile.cuh"

namespace nsa::gate_combine {

__device__ inline float sum_of_half(float value) {
#pragma unroll
  for (int step = 8; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

/// Softmax over the branches that are on, by the overrides; the same in all lanes of the row.
template <int kDk>
__device__ void make_gates(const GateBackwardParams& p, const Tile<kDk>& tile, const Place& place,
                           float (&gates)[3]) {
  float z[3] = {}, largest = -INFINITY, sum = 0;
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    gates[b] = 0;
    if (!p.fixed()) {
      for (int u = place.column; u < tile.hidden(); u += 16)
        z[b] = fmaf(tile.fc2[b * tile.hidden() + u], tile.act[place.row * tile.hidden() + u], z[b]);
      z[b] = sum_of_half(z[b]) + tile.fc2_b[b];
    }
    if (p.branches >> b & 1u) largest = fmaxf(largest, z[b] * p.inverse_tau);
  }
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    if (p.branches >> b & 1u) sum += gates[b] = expf(z[b] * p.inverse_tau - largest);
  }
#pragma unroll
  for (int b = 0; b < 3; ++b) {
    if (sum > 0) gates[b] /= sum;
    if (p.force_branch >= 0) gates[b] = b == p.force_branch ? 1.0f : 0.0f;
  }
}

/// What the backward launch of branch b reads of a row (Saved::row_stats); `dot` is d_o o.
__device__ inline void put_row_stats(const RowStats& to, std::int64_t place, float lse, float gate,
                                     float dot) {
  // What stands in a branch of gate 0 counts for nothing, NaN included.
  reinterpret_cast<float2*>(to.data)[place] =
      gate > 0 ? make_float2(cuda::log2_sum_exp(lse) - log2f(gate), dot)
               : make_float2(INFINITY, 0.0f);
}

/// Pieces under way at once: as many as there are registers beside the sums of the weights.
template <int kDk>
inline constexpr int kPiecesAtOnce = kDk == 128 ? 2 : 3;

/// Pieces of kWidth columns of a row's heads: what a lane reads of d_o and the branches. The first
/// ones are read ahead of the gates, so that the reads hide behind them, and each later one as soon
/// as its registers are free. kStats: row statistics are made of them, too.
template <class T, int kWidth, int kCount, bool kStats>
class Pieces {
 public:
  /// The first of a row.
  __device__ void load(const GateBackwardParams& p, const Place& place, std::int64_t row) {
    row_ = row;
    column_ = place.column;
    count_ = row < p.rows ? pieces_of(p) : 0;
#pragma unroll
    for (int k = 0; k < kCount; ++k) load(p, k, 16 * k);
    if constexpr (kStats) load_lse(p);
  }

  /// Writes the branches' gradients or row statistics of the whole row, and adds to the sums of d_o
  /// x branch. All lanes of the warp call it.
  __device__ void finish(const GateBackwardParams& p, const float (&gates)[3], float (&sum)[3]) {
    if constexpr (kStats && kWidth > 1) {
      if (makes_stats_alone(p)) {
        p.head_shift == 3 ? finish_stats<3>(p, sum) : finish_stats<4>(p, sum);
        return put_stats(p, gates);
      }
    }
    for (int first = 0; first < pieces_of(p); first += 16 * kCount) {  // lanes stay together
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        finish(p, k, first + 16 * k, gates, sum);
        load(p, k, first + 16 * (kCount + k));
      }
    }
    if constexpr (kStats) put_stats(p, gates);
  }

 private:
  using Bits = cuda::BitsOf<T, kWidth>;

  /// Whether the warp makes row statistics of all branches and nothing else of its pieces: what
  /// training asks for, with fewer questions a piece.
  __device__ bool makes_stats_alone(const GateBackwardParams& p) const {
    bool all = p.head_shift > 0 && pieces_of(p) % (16 * kCount) == 0;
#pragma unroll
    for (int b = 0; b < 3; ++b)
      all = all && p.branch[b].data && p.row_stats[b].data && !p.d_branch[b].data;
    return __all_sync(0xffffffffu, all && count_ > 0);
  }
  template <int kShift>
  __device__ void finish_stats(const GateBackwardParams& p, float (&sum)[3]) {
    for (int first = 0; first < count_; first += 16 * kCount) {
      float dot[kCount][3] = {};
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        float d_o[kWidth];
        cuda::unpack<T, kWidth>(d_o_[k], d_o);
#pragma unroll
        for (int b = 0; b < 3; ++b) {
          float o[kWidth];
          cuda::unpack<T, kWidth>(o_[k][b], o);
#pragma unroll
          for (int j = 0; j < kWidth; ++j) dot[k][b] = fmaf(d_o[j], o[j], dot[k][b]);
          sum[b] += dot[k][b];
        }
        const int i = first + 16 * (kCount + k) + column_;
        if (i < count_) {
          const At at(p, row_, i);
          d_o_[k] = read(p.d_o, at);
#pragma unroll
          for (int b = 0; b < 3; ++b) o_[k][b] = read(p.branch[b], at);
        }
      }
      keep_own<kShift>(first / 16, dot);
    }
  }
  /// Sums over the lanes of a head, of which each lane keeps that of its own number: of steps
  /// `step` and after. Two of them are summed at once, one in the even lanes and one in the odd
  /// ones.
  template <int kShift>
  __device__ void keep_own(int step, const float (&dot)[kCount][3]) {
    const int own = column_ & ((1 << kShift) - 1);
    const bool second = ((own ^ step) & 1) != 0;
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      const float sent = second ? dot[0][b] : dot[1][b], kept = second ? dot[1][b] : dot[0][b];
      float total = kept + __shfl_xor_sync(0xffffffffu, sent, 1);
#pragma unroll
      for (int lanes = 2; lanes < 1 << kShift; lanes *= 2)
        total += __shfl_xor_sync(0xffffffffu, total, lanes);
      if (own - step == (second ? 1 : 0)) dot_[b] = total;
#pragma unroll
      for (int k = 2; k < kCount; ++k) {
        total = sum_of_head(dot[k][b], kShift);
        if (own == step + k) dot_[b] = total;
      }
    }
  }

  __device__ void put_stats(const GateBackwardParams& p, const float (&gates)[3]) const {
    const int head = own_head(p);
    if (p.head_shift == 0 || count_ == 0 || head >= p.group) return;
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      if (p.row_stats[b].data)
        put_row_stats(p.row_stats[b], row_ * p.group + head, lse_[b], gates[b], dot_[b]);
    }
  }
  /// Piece k of those under way becomes number first + column of the row.
  __device__ void load(const GateBackwardParams& p, int k, int first) {
    const int i = first + column_;
    if (i >= count_) return;
    const At at(p, row_, i);
    d_o_[k] = read(p.d_o, at);
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      if (p.branch[b].data) o_[k][b] = read(p.branch[b], at);
    }
  }
  __device__ void finish(const GateBackwardParams& p, int k, int first, const float (&gates)[3],
                         float (&sum)[3]) {
    const int i = first + column_;
    const bool there = i < count_;
    const At at(p, row_, i);
    float d_o[kWidth] = {};
    if (there) cuda::unpack<T, kWidth>(d_o_[k], d_o);
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      float dot = 0;
      if (there && p.branch[b].data) {
        float o[kWidth];
        cuda::unpack<T, kWidth>(o_[k][b], o);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) dot = fmaf(d_o[j], o[j], dot);
      }
      sum[b] += dot;
      if constexpr (kStats) {
        if (p.head_shift > 0 && p.row_stats[b].data) {
          dot = sum_of_head(dot, p.head_shift);
          if (first / 16 == (column_ & own_mask(p))) dot_[b] = dot;
        }
      }
      if (!there || !p.d_branch[b].data) continue;
      float d_branch[kWidth];
#pragma unroll
      for (int j = 0; j < kWidth; ++j) d_branch[j] = gates[b] * d_o[j];
      cuda::put_gradients<T>(p.d_branch[b], at.in(p.d_branch[b]), d_branch);
    }
  }

  // Sixteen pieces are one head or two, whose lanes make its sums of d_o x branch together. Each
  // lane keeps those of one head.
  static __device__ int own_mask(const GateBackwardParams& p) { return (1 << p.head_shift) - 1; }
  __device__ int own_head(const GateBackwardParams& p) const {
    return p.head_shift == 3 ? 2 * (column_ & 7) + column_ / 8 : column_;
  }
  __device__ void load_lse(const GateBackwardParams& p) {
    const int head = own_head(p);
    if (p.head_shift == 0 || count_ == 0 || head >= p.group) return;
    const GateRow row(p, row_);
#pragma unroll
    for (int b = 0; b < 3; ++b) {
      const RowStats& of = p.row_stats[b];
      if (of.data)
        lse_[b] =
            of.lse[row.token * of.lse_row_stride + (row.first_head + head) * of.lse_head_stride];
    }
  }
  /// Over the 8 or 16 lanes of a head; all lanes of the warp take part.
  static __device__ float sum_of_head(float value, int shift) {
#pragma unroll
    for (int step = 4; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    if (shift == 4) value += __shfl_xor_sync(0xffffffffu, value, 8);
    return value;
  }

  static __device__ int pieces_of(const GateBackwardParams& p) { return p.group * p.dv / kWidth; }
  /// Piece i of a row. Wider than one only where d_o, the branches and their gradients lie row
  /// after row without gaps, so that one offset serves all (moves_in_vectors).
  struct At {
    std::int64_t flat = 0, token = 0, head = 0;
    __device__ At(const GateBackwardParams& p, std::int64_t number, int i) {
      if constexpr (kWidth > 1) {
        flat = number * (p.group * p.dv) + i * kWidth;
      } else {
        const GateRow row(p, number);
        token = row.token;
        head = row.first_head + i / p.dv;
        flat = i % p.dv;
      }
    }
    template <class Tensor>
    __device__ std::int64_t in(const Tensor& tensor) const {
      if constexpr (kWidth > 1) return flat;
      return token * tensor.row_stride + head * tensor.head_stride + flat;
    }
  };
  static __device__ Bits read(const cuda::HeadTensor<const void>& tensor, const At& at) {
    return *reinterpret_cast<const Bits*>(static_cast<const T*>(tensor.data) + at.in(tensor));
  }

  std::int64_t row_ = 0;
  int column_ = 0, count_ = 0;
  Bits d_o_[kCount], o_[kCount][3];
  float dot_[3] = {}, lse_[3];
};

/// Row statistics where a head is not shared by 8 or 16 lanes: a lane makes those of a head, in the
/// order of the kernel that makes them without gates (row_stats.cu).
template <class T>
__device__ void head_row_stats(const GateBackwardParams& p, const Place& place, std::int64_t row,
                               const float (&gates)[3]) {
  if (row >= p.rows) return;
  const GateRow at(p, row);
  for (int h = place.column; h < p.group; h += 16) {
    const std::int64_t head = at.first_head + h;
    const T* d_o = cuda::head_row<const T>(p.d_o, at.token, head);
#pragma unroll 1
    for (int b = 0; b < 3; ++b) {
      const RowStats& to = p.row_stats[b];
      if (!to.data) continue;
      float dot = 0;
      if (p.branch[b].data) {
        const T* o = cuda::head_row<const T>(p.branch[b], at.token, head);
        for (int d = 0; d < p.dv; d += 4)
          for (int i = min(p.dv - d, 4) - 1; i >= 0; --i)
            dot = fmaf(cuda::to_float(d_o[d + i]), cuda::to_float(o[d + i]), dot);
      }
      put_row_stats(to, row * p.group + h,
                    to.lse[at.token * to.lse_row_stride + head * to.lse_head_stride], gates[b],
                    dot);
    }
  }
}

/// Through the softmax: gradients of the logits; zeros where the gates are fixed.
__device__ inline float4 logit_gradients(const GateBackwardParams& p, const float (&g)[3],
                                         const float (&d)[3]) {
  if (p.fixed()) return make_float4(0, 0, 0, 0);
  // What stands in a branch of gate 0 counts for nothing, NaN included.
  const float x = g[0] > 0 ? g[0] * d[0] : 0, y = g[1] > 0 ? g[1] * d[1] : 0,
              z = g[2] > 0 ? g[2] * d[2] : 0;
  const float mean = x + y + z;
  return make_float4((x - g[0] * mean) * p.inverse_tau, (y - g[1] * mean) * p.inverse_tau,
                     (z - g[2] * mean) * p.inverse_tau, 0);
}

/// Through the second layer and the activation, for both rows of the warp.
template <int kDk>
__device__ void unit_gradients(const Tile<kDk>& tile, const Place& place) {
  const int hidden = tile.hidden();
  for (int unit = place.lane; unit < hidden; unit += 32) {
#pragma unroll
    for (int e = 0; e < kEach; ++e) {
      const int at = (place.rows + e) * hidden + unit;
      const float4 d_z = tile.d_z[place.rows + e];
      const float d_act = d_z.x * tile.fc2[unit] + d_z.y * tile.fc2[hidden + unit] +
                          d_z.z * tile.fc2[2 * hidden + unit];
      const float x = tile.before[at], sigmoid = 1.0f / (1.0f + expf(-x));
      tile.d_before[at] = d_act * sigmoid * (1.0f + x * (1.0f - sigmoid));
    }
  }
}

/// Rows past the last one leave zeros. `pieces` holds the first of the row.
template <class T, int kWidth, int kDk, bool kStats>
__device__ void row_gradients(const GateBackwardParams& p, const Tile<kDk>& tile,
                              const Place& place, std::int64_t first,
                              Pieces<T, kWidth, kPiecesAtOnce<kDk>, kStats>& pieces) {
  float gates[3], sum[3] = {};
  make_gates(p, tile, place, gates);
  pieces.finish(p, gates, sum);
  if constexpr (kStats) {
    if (p.head_shift == 0) head_row_stats<T>(p, place, first + place.row, gates);
  }
#pragma unroll
  for (int b = 0; b < 3; ++b) sum[b] = sum_of_half(sum[b]);
  if (place.column == 0)
    tile.d_z[place.row] =
        first + place.row < p.rows ? logit_gradients(p, gates, sum) : make_float4(0, 0, 0, 0);
  __syncwarp();
  unit_gradients(tile, place);
}

/// Through the first layer and the mean: the same for every head of a group.
template <class T, int kWidth, int kDk>
__device__ void query_gradients(const GateBackwardParams& p, const Tile<kDk>& tile,
                                const Place& place, std::int64_t first) {
  constexpr int kStep = Tile<kDk>::kStep;
  if (!p.d_q.data) return;
  for (int column = place.lane; column < tile.dk(); column += 32) {
    float sum[kEach] = {};
#pragma unroll 8
    for (int u = 0; u < tile.hidden(); u += kStep) {
#pragma unroll
      for (int e = 0; e < kEach; ++e) {
        float d_before[kStep];
        cuda::load_vector(tile.d_before + (place.rows + e) * tile.hidden() + u, d_before);
#pragma unroll
        for (int j = 0; j < kStep; ++j)
          sum[e] = fmaf(d_before[j], tile.fc1[(u + j) * (tile.dk() + 1) + column], sum[e]);
      }
    }
#pragma unroll
    for (int e = 0; e < kEach; ++e)
      tile.d_mean[(place.rows + e) * tile.dk() + column] = sum[e] / static_cast<float>(p.group);
  }
  __syncwarp();
  if (first + place.row >= p.rows) return;
  const GateRow row(p, first + place.row);
  for (int column = place.column * kWidth; column < tile.dk(); column += 16 * kWidth) {
    float d_q[kWidth];
#pragma unroll
    for (int j = 0; j < kWidth; ++j) d_q[j] = tile.d_mean[place.row * tile.dk() + column + j];
    for (int h = 0; h < p.group; ++h)
      cuda::put_gradients<T>(
          p.d_q, row.token * p.d_q.row_stride + (row.first_head + h) * p.d_q.head_stride + column,
          d_q);
  }
}

}  // namespace nsa::gate_combine
