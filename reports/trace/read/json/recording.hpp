// The key "nsatune" of our traces: what was recorded, by whom, and what is missing.
#pragma once

#include "metadata.hpp"

namespace nsa::trace {

inline constexpr std::string_view kRecordingKey = "nsatune";

/// False when it is not as our writer writes it.
bool take_recording(const Json& value, Trace& trace, OurMetadata& ours);
/// The value that take_recording reads.
Json recording_json(const Trace& trace, const OurMetadata& ours);

}  // namespace nsa::trace
