// Floors of the backward pass of each stage.
#include "catalog/cost.hpp"

namespace nsa {
namespace {

/// Of a product and its two gradients: the gradients take twice the work.
constexpr double kOfAProduct = 2;

Cost times(const Cost& forward, double flop) { return {flop * forward.flop, 2 * forward.bytes}; }

/// Of the forward pass's Dk + Dv per pair, backward takes 3 Dk + 2 Dv.
double products_of_attention(const Problem& p) {
  const auto dk = static_cast<double>(p.head_dim_k), dv = static_cast<double>(p.head_dim_v);
  return (3 * dk + 2 * dv) / (dk + dv);
}

/// `blocks`: bytes that have no gradient.
Cost attend_backward(const Problem& p, Cost forward, double blocks = 0) {
  Cost cost = times(forward, products_of_attention(p));
  cost.bytes -= blocks;
  return cost;
}

}  // namespace

Cost project_rope_backward_cost(const Problem& p) {
  return times(project_rope_cost(p), kOfAProduct);
}
Cost compress_backward_cost(const Problem& p) {
  const Cost forward = compress_cost(p);
  return {forward.flop, forward.bytes};  // raw and pooled rows themselves are not read
}
Cost attend_compressed_backward_cost(const Problem& p) {
  return attend_backward(p, attend_compressed_cost(p));
}
Cost attend_selected_backward_cost(const Problem& p) {
  const auto ids = static_cast<double>(p.total_tokens() * p.kv_heads * p.geometry.sel_count);
  return attend_backward(p, attend_selected_cost(p), 4 * ids);
}
Cost attend_window_backward_cost(const Problem& p) {
  return attend_backward(p, attend_window_cost(p));
}
Cost gate_combine_backward_cost(const Problem& p) {
  // The gate is made once more, then the gradients of its two layers and of the sum.
  return times(gate_combine_cost(p), 1 + kOfAProduct);
}
Cost out_proj_backward_cost(const Problem& p) { return times(out_proj_cost(p), kOfAProduct); }

}  // namespace nsa
