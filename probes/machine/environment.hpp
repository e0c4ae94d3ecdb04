// Which variables belong to the fingerprint of an environment.
#pragma once

#include <string_view>

namespace nsa::probes {

/// True for NSA_, CUDA_, NCCL_, PYTORCH_, TORCH_ and OMP_ variables, and NSATUNE_THREADS.
bool belongs_to_fingerprint(std::string_view variable);

}  // namespace nsa::probes
