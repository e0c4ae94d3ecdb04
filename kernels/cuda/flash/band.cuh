// Branches whose query at t sees one run of keys, a band: the window, and the compressed keys.
#pragma once

#include <algorithm>

#include "cuda/flash/attend_device.cuh"
#include "cuda/flash/attend_params.hpp"
#include "cuda/flash/query_of_row.cuh"

namespace nsa::cuda {

/// The last min(w, t + 1) tokens, t included (docs/nsa.md 7); none where w is 0.
struct WindowBand {
  __device__ static int begin(const AttendParams& p, int t) { return max(t - p.window + 1, 0); }
  __device__ static int end(const AttendParams&, int t) { return t + 1; }
  __device__ static std::int64_t first_row(const Sequence& s) { return s.kv_begin; }
};

/// Compressed key c covers tokens [c d, c d + l) and is seen from its last token on (docs/nsa.md
/// 3).
struct CompressedBand {
  __device__ static int begin(const AttendParams&, int) { return 0; }
  __device__ static int end(const AttendParams& p, int t) {
    return t + 1 < p.cmp_block ? 0 : (t + 1 - p.cmp_block) / p.cmp_stride + 1;
  }
  __device__ static std::int64_t first_row(const Sequence& s) { return s.cmp_begin; }
};

/// Where a block works: rows (query, head of the group) of one sequence and KV head, packed
/// densely. Sequence b owns the tiles from first_tile(b) on, with one to spare, so that no list of
/// tiles is needed for a ragged batch. A launch has fewer than 2^31 rows, so 32 bits will do.
struct RowTile {
  Sequence sequence;
  int first_row = 0, rows = 0;  // of the sequence; none of them where first_row >= rows
  int kv_head = 0;

  __host__ __device__ static unsigned first_tile(std::int64_t q_begin, int group, int rows_of_tile,
                                                 std::int64_t b) {
    return static_cast<unsigned>(q_begin) * static_cast<unsigned>(group) /
               static_cast<unsigned>(rows_of_tile) +
           static_cast<unsigned>(b);
  }
  __host__ __device__ static unsigned tiles(const AttendParams& p, int rows_of_token,
                                            int rows_of_tile) {
    return first_tile(p.tokens, rows_of_token, rows_of_tile, p.batch);
  }
  /// The tile of this block: long rows first. `rows_of_token` is the group, or 1 where a row is a
  /// query with all its heads.
  __device__ RowTile(const AttendParams& p, int rows_of_token, int rows_of_tile)
      : group_(rows_of_token), query_of_(rows_of_token) {
    const unsigned all = tiles(p, group_, rows_of_tile);
    kv_head = static_cast<int>(blockIdx.x / all);
    const unsigned slot = all - 1 - blockIdx.x % all;
    std::int64_t low = 0, high = p.batch - 1;
    while (low < high) {
      const std::int64_t middle = (low + high + 1) / 2;
      if (first_tile(p.sequences[middle].q_begin, group_, rows_of_tile, middle) <= slot) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    sequence = p.sequences[low];
    rows = static_cast<int>(sequence.q_len) * group_;
    const unsigned own = first_tile(sequence.q_begin, group_, rows_of_tile, low);
    // A tile before the first sequence has no rows: sequences may cover a part of the batch only.
    first_row = slot < own ? rows : static_cast<int>(slot - own) * rows_of_tile;
    first_query_ = first_row / group_;
    first_head_ = first_row - first_query_ * group_;
  }
  __device__ bool holds(int row) const { return first_row + row < rows; }
  /// Query of the sequence that a row of the tile belongs to.
  __device__ int query(int row) const { return first_query_ + queries_before(row); }
  __device__ std::int64_t token(int row) const { return sequence.q_begin + query(row); }
  __device__ int head(int row) const {
    return kv_head * group_ + first_head_ + row - queries_before(row) * group_;
  }
  /// Where a row of q or o begins, in two parts: the heads of this group of the first query, and
  /// elements from there on, which 32 bits have to hold (near_rows of band_launch.cuh).
  template <class T, class Untyped>
  __device__ auto* first_of(const HeadTensor<Untyped>& tensor) const {
    return head_row<T>(tensor, sequence.q_begin + first_query_, kv_head * group_);
  }
  template <class Untyped>
  __device__ int offset_of(const HeadTensor<Untyped>& tensor, int row) const {
    const int queries = queries_before(row), head = first_head_ + row - queries * group_;
    return queries * static_cast<int>(tensor.row_stride) +
           head * static_cast<int>(tensor.head_stride);
  }
  /// Position of the query of a row; rows past the last one stand where the last one does.
  __device__ int position(int row) const {
    return static_cast<int>(sequence.kv_len - sequence.q_len) +
           query(min(row, rows - 1 - first_row));
  }

 private:
  __device__ int queries_before(int row) const { return query_of_(first_head_ + row); }

  int group_;
  QueryOfRow query_of_;
  int first_query_ = 0, first_head_ = 0;
};

}  // namespace nsa::cuda
