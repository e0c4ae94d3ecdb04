// How often lengths are used, as a file says it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

/// A histogram of lengths: lines `tokens,weight` or `tokens,weight,phase` (prefill, decode; none:
/// of both), as `sort | uniq -c` of a log of lengths gives them with its columns turned. A first
/// line whose first cell has no digit is a header; a byte order mark, empty lines and those that
/// begin with # are left out. Or JSON with `lengths` of telemetry: what `run --json` prints, or
/// heartbeats, of which the last counts. InputError names `path` and the line.
std::vector<UseOfLength> parse_workload(std::string_view text, const std::string& path);

}  // namespace nsa::tuner
