// What stands beside "traceEvents": devices, rank, base time, and what our writer says of its
// recording. Other keys are kept as they are.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fields.hpp"
#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// How a file of ours is to be read; it may stand after the events.
struct OurMetadata {
  std::set<std::string> known_keys;  // that were read already, ours or not
  std::int64_t origin_ns = 0;        // added to every time
  /// The ids under which the events of Trace::processes[i] are drawn; empty: no file of ours.
  std::vector<std::vector<std::string>> pids;
  std::vector<DevicePid> device_pids;
};

/// InputError with `where` and `offset` when a known key has a value of another kind, or is there
/// twice.
void take_metadata(const std::string& key, std::string_view value, const std::string& where,
                   std::uint64_t offset, Trace& trace, OurMetadata& ours);

}  // namespace nsa::trace
