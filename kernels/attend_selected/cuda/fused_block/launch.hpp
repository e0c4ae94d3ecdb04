// `fused_block`: one function per storage type, each compiled in a file of its own.
#pragma once

#include "attend_selected/cuda/fused_block/plan.hpp"
#include "nsa/kernels/launch.hpp"

struct CUstream_st;

namespace nsa::cuda {

struct AttendParams;

/// False where the tensors' rows are not aligned for it: then nothing was launched.
bool fused_block_bf16(const AttendParams& p, const BlockPlan& plan, const LaunchArgs& args);
bool fused_block_fp16(const AttendParams& p, const BlockPlan& plan, const LaunchArgs& args);

struct BlockParams;

/// Its first kernel: which queries picked a block (lists.cu).
void launch_block_lists(const BlockParams& p, CUstream_st* stream);

}  // namespace nsa::cuda
