// What FlashInfer's kernels are compiled for here: plain C++, for the table of variants too.
#pragma once

#include <cstdint>

namespace nsa::vendor {

/// Rows (query, head of the group) of a block.
inline constexpr int kFlashInferRows = 128;

constexpr bool flashinfer_has(std::int64_t dk, std::int64_t dv) {
  return (dk == 64 && dv == 64) || (dk == 128 && dv == 128) || (dk == 192 && dv == 128);
}

/// Bytes of the lists of tiles of the ragged kernel (TileLists), each aligned as a workspace
/// aligns.
constexpr std::int64_t tile_list_bytes(std::int64_t tiles, std::int64_t batch) {
  constexpr std::int64_t kInt = 4, kAlignment = 256, kLists = 7;
  return tiles * (3 * kInt + 1) + batch * 2 * kInt + kInt + kLists * kAlignment;
}

}  // namespace nsa::vendor
