// What the kernel of a decode step gets: plain pointers, strides in elements, sizes.
#pragma once

#include "cuda/flash/attend_params.hpp"
#include "gate_combine/cuda/gate/mlp.hpp"

namespace nsa::cuda::step {

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kLanesOfRow = 8;                   // that share a row of K or V
inline constexpr int kVector = 8;                       // numbers of a lane
inline constexpr int kColumns = kLanesOfRow * kVector;  // of a row at a time
inline constexpr int kHeads = 8;                        // of a group at a time
inline constexpr int kRowsAtOnce = kThreads / kLanesOfRow;
inline constexpr int kTileHeads = 16;  // of a tensor-core tile
inline constexpr int kQueryGap = 8;    // numbers after a row of queries: banks
inline constexpr int kMostRanks = 16;  // blocks of a cluster: what one Hopper GPC holds

/// What the parts of a block's shared memory are sized by.
struct Layout {
  int ranks;   // blocks of a cluster
  int keys;    // most keys of a branch that a block takes
  int share;   // most compressed keys of a block
  int blocks;  // most selection blocks of a sequence
  int padded_dk, dv, group, hidden, sel_count;
};

struct Params {
  HeadTensor<const void> q;           // [batch, q_heads, dk]
  HeadTensor<const void> k[3], v[3];  // cmp, sel, win: [rows, kv_heads, d]
  HeadTensor<void> o;                 // [batch, q_heads, dv]
  GateMlp mlp;
  std::int32_t* blocks;  // [batch, kv_heads, sel_count]; may be null
  std::int64_t blocks_row_stride, blocks_head_stride, blocks_id_stride;
  const Sequence* sequences;         // [batch]
  const Sequence* window_sequences;  // [batch]
  int kv_heads, group, dk, dv, ranks;
  int cmp_block, cmp_stride, sel_block, sel_count, window;
  unsigned sel_reciprocal;  // 2^32 / sel_block, rounded up
  float scale_log2;         // log2(e) / sqrt(dk): logits in units in which exp2 is the weight
  float inverse_tau;
  int force_branch;  // -1: none
  bool uniform;
  Layout layout;
};

/// Enqueues the kernel; `vectors`: all rows can be read 16 bytes at a time.
void launch_bf16(const Params& params, int batch, bool vectors, CUstream_st* stream);
void launch_fp16(const Params& params, int batch, bool vectors, CUstream_st* stream);
void launch_fp32(const Params& params, int batch, bool vectors, CUstream_st* stream);

inline constexpr int kParts = 13;
/// Floats of each part of shared memory, in the order of Shared; multiples of 16 bytes.
struct PartSizes {
  int floats[kParts];
  constexpr explicit PartSizes(const Layout& t)
      : floats{t.group * t.padded_dk,
               t.group * t.share,
               t.group * t.keys,
               t.share,
               t.blocks,
               3 * t.group * t.dv,
               3 * t.group,
               3 * t.group,
               3 * t.group * kMostRanks,
               2 * t.group,
               kWarps * (t.group > 8 ? 16 : 8) * kColumns,
               t.padded_dk + t.hidden,
               4} {
    const int slice = 3 * ((t.group * t.dv + t.ranks - 1) / t.ranks);
    if (slice > floats[10]) floats[10] = slice;
    for (int& count : floats) count = (count + 3) / 4 * 4;
  }
};
/// Queries as they are stored, 16 bits wide, for tensor-core tiles.
constexpr int query_floats(const Layout& t) {
  return (t.group + kTileHeads - 1) / kTileHeads * kTileHeads * (t.padded_dk + kQueryGap) / 2;
}
/// Bytes of shared memory that a block needs: the parts, the queries, 32 candidates, the selected
/// blocks.
constexpr std::int64_t shared_bytes(const Layout& layout) {
  std::int64_t floats = query_floats(layout) + 2 * 32 + (layout.sel_count + 3) / 4 * 4;
  for (const int part : PartSizes(layout).floats) floats += part;
  return 4 * floats;
}

}  // namespace nsa::cuda::step
