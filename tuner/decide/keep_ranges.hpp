// The shipped ranges where no change of a choice pays.
#pragma once

#include "make_ranges.hpp"

namespace nsa::tuner {

/// Which variant runs at measured lengths, and where it takes over between them, stays as it is
/// shipped. What ranges rest on, how far they reach beyond all measured lengths and what goes on
/// there is said by tonight's rows, unless the shipped file rests on lengths further out. An end
/// that noise alone moved stays, too, and so does what goes on where these rows only doubt it.
void keep_ranges(const Side& side, const Decision& shipped, Decision& decision);

/// Ranges that tonight's rows changed, and around them what the shipped file says of lengths that
/// it rests on and tonight did not reach. Where it tells other lengths apart, the ranges alone.
std::vector<ThresholdRange> with_what_is_out_of_reach(const Side& side,
                                                      std::vector<ThresholdRange> ranges);

}  // namespace nsa::tuner
