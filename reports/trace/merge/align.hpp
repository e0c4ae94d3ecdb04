// The clocks of several recordings, brought together.
#pragma once

#include <cstdint>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

struct Placement {
  Clocks clocks;
  std::vector<std::int64_t> shift_ns;  // [traces] what is added to their times; 0 for the first
};

/// Recordings of one host share its clock. Those of several are aligned by the ends of collectives
/// of the process groups that they share, directly or through others, else by the starts of common
/// steps; what was assumed is stated, and whether it held: where it did not, or where some share no
/// group with the first one, they stand beside each other by their absolute times, or not at all.
Placement align(const std::vector<Trace>& traces);

}  // namespace nsa::trace
