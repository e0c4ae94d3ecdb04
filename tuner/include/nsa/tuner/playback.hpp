// A worker that plays a world with a known truth instead of running kernels, so that a whole sweep
// and the decision over it can be judged (playback.schema.json).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nsa/schemas/json.hpp"

namespace nsa::tuner {

/// Speaks the worker protocol on stdin and stdout until `bye` or the end of the input. InputError
/// where the script cannot be played.
void play_world(const std::string& script);
/// True times of all variants of a script at those lengths, as playback_truth.schema.json has them.
Json truth_of_world(const std::string& script, const std::vector<std::int64_t>& lengths);
/// "128,1000" or "128:65536:40" (40 lengths from 128 to 65536, evenly on a logarithmic axis, each
/// once), or several with commas. InputError on anything else.
std::vector<std::int64_t> parse_lengths(const std::string& text);

}  // namespace nsa::tuner
