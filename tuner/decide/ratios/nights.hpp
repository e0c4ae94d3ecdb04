// Evidence of several runs: it adds up as long as the runs agree.
#pragma once

#include <string>
#include <vector>

#include "groups.hpp"

namespace nsa::tuner {

/// Of each board, takes the newest run and those before it, the newer first, as long as each agrees
/// with what was taken; from the first that does not on, older ones are left out: something has
/// changed since. A run that shares no pair of variants with the newer ones cannot disagree.
void keep_agreeing_runs(Group& group, std::vector<std::string>& notes);

/// Leaves a run out at the problems of which another run of its board has the same variants with a
/// small part of its noise: a loud night takes nothing from what a quiet one has shown.
void keep_precise_runs(Group& group, std::vector<std::string>& notes);

}  // namespace nsa::tuner
