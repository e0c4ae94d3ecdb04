// What a worker says of its own outputs.
#pragma once

#include <optional>

#include "nsa/kernels/oracle.hpp"
#include "worker/handle.hpp"

namespace nsa::tuner {

/// Elements of the outputs that a launch leaves untouched (they hold whichever poison was there
/// before), and numbers that are not finite. Launches once, or twice when the first poison is
/// found: in fp16 it is an ordinary number.
struct ElementFaults {
  std::int64_t untouched = 0, non_finite = 0;
};
ElementFaults find_faults(Handle& handle);

/// Worst row error against the oracle: of all rows where the device has an oracle for the stage,
/// else of rows spread evenly until `budget_s` is spent. Nothing for stages that no oracle covers.
std::optional<double> worst_row_error(Handle& handle, const Device& device, double budget_s);

}  // namespace nsa::tuner
