// From which length NSA is worth it at all: against dense attention.
#pragma once

#include <optional>

#include "decide/ratios/ratios.hpp"

namespace nsa::tuner {

/// The break-even of a group of stage `attention`, or nothing without a baseline that was measured
/// beside an NSA plan.
std::optional<DenseBreakEven> break_even(const Group& group, const DecideInput& input);
/// "attention: NSA beats dense from seq_len 4096 on; at 65536 it takes 0.21 of its time".
std::string describe(const DenseBreakEven& found);

}  // namespace nsa::tuner
