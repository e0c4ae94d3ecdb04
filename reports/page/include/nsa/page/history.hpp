// The nights of all series as the page holds them: small, and enough for a plot of each.
#pragma once

#include <vector>

#include "nsa/nightly/judge.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::page {

/// {tracks: nights by device, series: in the order of `series`}. A track is {device, index, time,
/// environment, commit}, an entry a night; a series {track, quantum, median, below, above,
/// segments: [[from, to, level]], failures: [[night, why]]}, where from, to and night are positions
/// in the track and `to` is after the segment's last night.
/// @param verdicts  of the same series, in the same order
Json history_json(const std::vector<nightly::Series>& series,
                  const std::vector<nightly::Verdict>& verdicts);

}  // namespace nsa::page
