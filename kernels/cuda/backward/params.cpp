#include "cuda/backward/params.hpp"

#include <cmath>

#include "cuda/memory/alignment.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::cuda {
namespace {

constexpr std::int64_t kAlignment = 256;  // of a tensor in the workspace

GradientTensor gradient_tensor(const TensorView& view, bool accumulate) {
  if (!view) return {};
  expects(view.rank == 3 && view.rows_contiguous(), "a gradient [rows, heads, dim]");
  return {.data = view.data,
          .row_stride = view.stride[0],
          .head_stride = view.stride[1],
          .fp32 = view.dtype == Dtype::fp32,
          .accumulate = accumulate,
          .vectors = rows_start_aligned(view)};
}

}  // namespace

BackwardParams make_backward_params(const LaunchArgs& args, const BandBackwardTensors& tensors,
                                    const AttendParams& attend) {
  expects(attend.lse != nullptr, "the log-sum-exp that the forward launch saved");
  expects(tensors.d_o.rank == 3 && tensors.d_o.rows_contiguous(), "d_o [tokens, q_heads, dim]");
  BackwardParams p;
  p.attend = attend;
  p.d_o = {tensors.d_o.data, tensors.d_o.stride[0], tensors.d_o.stride[1],
           rows_start_aligned(tensors.d_o)};
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
