// Dense causal attention: the baseline.
#pragma once

#include "stage.hpp"

namespace nsa {

/// o = softmax(q k^T / sqrt(d)) v over all keys up to the query, with the window stage's rows.
void dense_rows(const Context& context, const Problem& problem, const PlacedSequences& sequences,
                const TensorView& q, const KvTensors& kv, const TensorView& o);

/// The same problem with a window that reaches back to the first token.
Problem dense_problem(const Problem& problem);

/// Dense attention selects nothing: -1 in every place. blocks [tokens, kv_heads, sel_count] int32.
void no_blocks(const Context& context, const TensorView& blocks);

}  // namespace nsa
