// Kernels and operators that a rule knows by name.
#pragma once

#include <vector>

#include "nsa/doctor/evidence.hpp"
#include "nsa/trace/model.hpp"

namespace nsa::doctor {

/// TraceEvidence::suspects, longest total first:
/// - range_conversion: kernels of PyTorch's unique, which nsa-vibe's range converters are made of;
/// - heads_copied: repeat_interleave of K or V within attention, with the GPU's time of it;
/// - checkpointing: backward passes that compute a layer again.
std::vector<Group> suspects_of(const trace::Trace& trace);

}  // namespace nsa::doctor
