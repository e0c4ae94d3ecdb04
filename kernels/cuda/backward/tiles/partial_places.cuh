// Where the partial results of the gradient of q lie (KeyOutputs).
#pragma once

#include "cuda/backward/key_params.hpp"
#include "cuda/backward/tiles/key_items.cuh"

namespace nsa::cuda {

/// What an item's tile of keys gives to its queries: a row of numbers for each pick and head, or,
/// where atomic operations add them up, for each head.
class PartialPlaces {
 public:
  __device__ PartialPlaces(const BackwardParams& p, const KeyOutputs& out, const KeyItem& item,
                           int tile_keys) {
    const AttendParams& a = p.attend;
    if (out.query == QueryGradient::atomic) {
      of_token_ = a.kv_heads * a.group;
      first_ = item.kv_head * a.group;
      return;
    }
    const int part = item.keys.first % a.sel_block / tile_keys;  // of a block of several tiles
    of_token_ = a.kv_heads * out.picks * a.group;
    of_pick_ = out.tiles_of_block * a.group;
    first_ = (item.kv_head * out.picks + part) * a.group - out.first_token * of_token_;
  }
  /// The row of the first head of the group.
  __device__ std::int64_t operator()(std::int64_t token, int pick) const {
    return token * of_token_ + (first_ + pick * of_pick_);
  }

 private:
  int of_token_, of_pick_ = 0;
  std::int64_t first_;
};

}  // namespace nsa::cuda
