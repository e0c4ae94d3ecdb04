// Sizes of the kernels of `fused_query` on Hopper.
#pragma once

namespace nsa::cuda {

/// Sizes of one kernel: kHeadTiles tiles of 8 heads, kConsumers warps that compute, and one more
/// that starts the copies.
template <class T, int kDimK, int kDimV, int kHeadTiles, int kConsumers>
struct QuerySizes {
  using Storage = T;
  static constexpr int kDk = kDimK, kDv = kDimV, kKeys = 64;
  static constexpr int kTiles = kHeadTiles, kHeads = 8 * kHeadTiles;  // of a group, padded
  static constexpr int kWarps = kConsumers, kThreads = 32 * (kWarps + 1);
  /// Two blocks of 8 warps per SM where narrow queries leave the registers, else one.
  static constexpr int kBlocks = kDimK == 64 && kHeadTiles == 1 && kConsumers < 8 ? 2 : 1;
  static constexpr int kRegisters =
      65536 / (kThreads * kBlocks) < 255 ? 65536 / (kThreads * kBlocks) : 255;
  /// Queries of a warp: two share what they read of K and V from shared memory. Their sums are
  /// kHeads * dv / 32 registers each.
  static constexpr int kQueriesOfWarp = kHeads * kDimV / 16 + 80 <= kRegisters ? 2 : 1;
  static constexpr int kQueries = kQueriesOfWarp * kWarps;
  /// Tiles of 16 keys that a warp works on at a time: as many as its registers hold.
  static constexpr int kPassTiles =
      kQueriesOfWarp * kTiles * (kDimV / 4 + 20) + 50 <= kRegisters ? 4 : 2;
  static constexpr int kQueryBytes = kHeads * kDk * 2, kKBytes = kKeys * kDk * 2;
  static constexpr int kStageBytes = kKBytes + kKeys * kDv * 2, kMaxStages = 8;
  static constexpr int kAlignment = 1024;  // of a swizzled tile
  /// Shared memory of a block but for its stages, for lists of `entries` blocks.
  static constexpr int fixed_bytes(int entries) {
    return kAlignment + kQueries * kQueryBytes + kMaxStages * 16 + entries * 8 + 1024;
  }
  static constexpr int stages(int entries) {
    const int room = (228 * 1024 / kBlocks - 1024 - fixed_bytes(entries)) / kStageBytes;
    return room < kMaxStages ? room : kMaxStages;
  }
};

}  // namespace nsa::cuda
