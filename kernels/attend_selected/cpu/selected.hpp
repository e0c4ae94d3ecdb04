// What the variants of the selected branch get on the CPU.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::cpu {

/// Tensors of one launch, by name. Of blocks and ranges one may be absent where the variant needs
/// the other only.
struct SelectedTensors {
  TensorView q, k, v, blocks, ranges, out, lse;
};
inline SelectedTensors selected_tensors(const LaunchArgs& args) {
  const SelectedTensors tensors{args.in[0],
                                args.in[1],
                                args.in[2],
                                args.in[3],
                                args.in[4],
                                args.out[0],
                                args.saved != nullptr ? args.saved->lse_sel : TensorView{}};
  const std::int64_t count = args.problem.geometry.sel_count;
  expects(!tensors.blocks || tensors.blocks.shape[2] <= count, "sel_count blocks in a row");
  expects(!tensors.ranges || tensors.ranges.shape[2] <= count, "sel_count ranges in a row");
  return tensors;
}

}  // namespace nsa::cpu
