// FLOP and compulsory bytes of each stage's mathematics (not of what a kernel wastes), for
// deadlines, roofline and plausibility. A multiply-add counts as two. Rows of the tables point
// here.
#pragma once

#include "nsa/schemas/measurement.hpp"
#include "nsa/schemas/problem.hpp"

namespace nsa {

/// Query-key pairs of each branch for one head, over all sequences.
double compressed_pairs(const Problem& p);  // sum over queries of num_compressed(t + 1)
double selected_pairs(const Problem& p);    // sum of min(n l', t + 1)
double window_pairs(const Problem& p);      // sum of min(w, t + 1)
double causal_pairs(const Problem& p);      // sum of t + 1

Cost project_rope_cost(const Problem& p);
Cost compress_cost(const Problem& p);
Cost score_cost(const Problem& p);
Cost ranges_cost(const Problem& p);
Cost attend_compressed_cost(const Problem& p);
/// attend_compressed and score at once: the logits serve both.
Cost attend_compressed_and_score_cost(const Problem& p);
Cost attend_selected_cost(const Problem& p);
Cost attend_window_cost(const Problem& p);
Cost gate_combine_cost(const Problem& p);
Cost out_proj_cost(const Problem& p);
/// Pooled K/V, scores, the three branches and the gate; bytes of what goes in and out.
Cost attention_cost(const Problem& p);
/// Dense causal attention with one K/V set.
Cost dense_attention_cost(const Problem& p);
Cost layer_cost(const Problem& p);
/// `layers` blocks with a SiLU MLP of width 4 model_dim, and the output head.
Cost model_cost(const Problem& p);
/// The function of that stage from above.
Cost cost_of(Stage stage, const Problem& p);

// Backward: each tensor of the forward pass and its gradient go by once, weights included.
Cost project_rope_backward_cost(const Problem& p);
Cost compress_backward_cost(const Problem& p);
/// Five products where the forward pass has two: logits and d_p again, then three gradients.
Cost attend_compressed_backward_cost(const Problem& p);
Cost attend_selected_backward_cost(const Problem& p);
Cost attend_window_backward_cost(const Problem& p);
Cost gate_combine_backward_cost(const Problem& p);
Cost out_proj_backward_cost(const Problem& p);

}  // namespace nsa
