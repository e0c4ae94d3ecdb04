// What shows in single elements, without an oracle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nsa/kernels/inputs.hpp"

namespace nsa::tuner {

using Outputs = std::vector<HostTensor>;

/// Elements that each of two launches left as the poison that was there before it. One poison alone
/// proves nothing: in fp16 it is an ordinary number.
std::int64_t count_untouched(const Outputs& before, std::byte old_poison, const Outputs& now,
                             std::byte poison);
/// NaN and infinities.
std::int64_t count_non_finite(const Outputs& tensors);

}  // namespace nsa::tuner
