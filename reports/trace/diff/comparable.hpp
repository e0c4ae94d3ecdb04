// Whether two traces show the same work on the same GPU in the same state.
#pragma once

#include "nsa/trace/diff.hpp"
#include "profile.hpp"

namespace nsa::trace {

/// Fills the reasons and the notes.
void judge_comparable(const Trace& a, const Trace& b, const Profile& in_a, const Profile& in_b,
                      TraceDiff& out);

}  // namespace nsa::trace
