// How far a selection agrees with the exact one.
#pragma once

#include <cstdint>
#include <span>

#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/oracle.hpp"
#include "nsa/schemas/launch_subject.hpp"

namespace nsa::tuner {

/// Whether the row selects blocks by scores that it rounds to less than fp32 on the way.
bool selects_reduced(const Variant& row);

/// `blocks`: [rows, kv_heads, sel_count] int32, the rows `rows` of the problem alone, -1 = unused.
/// `oracle`: of `score`; rows that it was asked for before cost nothing. Stops after `budget_s` of
/// its time, but not before the first row.
Agreement agreement_of(const SpanOracle& oracle, const TensorView& blocks,
                       std::span<const std::int64_t> rows, double budget_s);

}  // namespace nsa::tuner
