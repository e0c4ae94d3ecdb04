// A result of `nsatune run` for people: the same when it ran as when it is looked up later.
#pragma once

#include <string>

#include "nsa/schemas/json.hpp"

namespace nsa::reports {

/// The model, whose thresholds it followed, its direction, step time, tokens per second and share
/// of the peak, then which variants ran, what was read, and the memory. Ends with a line feed.
/// `result`: a valid document of schemas/json/run_result.schema.json.
std::string run_result_text(const Json& result);

}  // namespace nsa::reports
