// What shows in single elements, without an oracle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "nsa/kernels/inputs.hpp"

namespace nsa::tuner {

using Outputs = std::vector<HostTensor>;

/// Elements that each of two launches left as the poison that was there before it. One poison alone
/// proves nothing: in fp16 it is an ordinary number.
std::int64_t count_untouched(const Outputs& before, std::byte old_poison, const Outputs& now,
                             std::byte poison);
/// NaN and infinities, apart from empty_rows().
std::int64_t count_non_finite(const Outputs& tensors);
/// Whether a tensor of that name holds log-sum-exps.
bool is_log_sum_exp(std::string_view name) noexcept;
/// Log-sum-exps of -inf, which a launch saves where a query sees no key; whether these are the
/// right ones is for the oracle to say. 0 of other tensors.
std::int64_t empty_rows(const HostTensor& tensor);

}  // namespace nsa::tuner
