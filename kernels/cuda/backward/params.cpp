#include "cuda/backward/params.hpp"

#include <cmath>

#include "cuda/backward/gradient_tensor.hpp"
#include "cuda/flash/head_tensor.hpp"

namespace nsa::cuda {
namespace {

constexpr std::int64_t kAlignment = 256;  // of a tensor in the workspace

}  // namespace

BackwardParams make_backward_params(const LaunchArgs& args, const BandBackwardTensors& tensors,
                                    const AttendParams& attend) {
  expects(attend.lse != nullptr, "the log-sum-exp that the forward launch saved");
  BackwardParams p;
  p.attend = attend;
  p.d_o = head_tensor<const void>(tensors.d_o, rows_start_aligned(tensors.d_o));
  p.stats_given = static_cast<bool>(tensors.row_stats);
  p.stats = p.stats_given
                ? tensors.row_stats.as<float>()
                : args.workspace
                      .take<float>(2 * attend.tokens * attend.kv_heads * std::int64_t{attend.group})
                      .data();
  p.d_q = gradient_tensor(tensors.d_q, args.adds_to(BandBackwardTensors::kDQ));
  p.d_k = gradient_tensor(tensors.d_kv.k, args.adds_to(BandBackwardTensors::kDK));
  p.d_v = gradient_tensor(tensors.d_kv.v, args.adds_to(BandBackwardTensors::kDV));
  p.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(attend.dk)));
  return p;
}

BackwardParams make_backward_params(const LaunchArgs& args,
                                    const SelectedBackwardTensors& tensors) {
  const BandBackwardTensors& attention = tensors.attention;
  return make_backward_params(args, attention,
                              make_attend_params(args, {.q = attention.q,
                                                        .kv = attention.kv,
                                                        .blocks = tensors.blocks,
                                                        .ranges = tensors.ranges,
                                                        .o = attention.o,
                                                        .lse = attention.lse}));
}

std::int64_t stats_bytes(const Problem& p) { return 8 * p.total_tokens() * p.q_heads + kAlignment; }

}  // namespace nsa::cuda
