// A part of a trace, so that every table of its summary is of that part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// What is kept. Bounds of pairs: the first is in, the last of `steps` too, the end of `time_ns` is
/// not.
struct Filter {
  std::optional<std::pair<std::int64_t, std::int64_t>> steps;    // by the number in their names
  std::optional<std::pair<std::int64_t, std::int64_t>> time_ns;  // from `first_ns` on
  std::optional<std::int64_t> first_ns;  // of traces on one time line; absent: the first event's
  std::optional<std::int64_t> stream;
  std::string name;  // of the operation, a part of it; empty: any

  /// Whether it leaves anything out.
  bool any() const { return steps || time_ns || stream || !name.empty(); }
};

/// Steps and times keep what the host did in them too, and steps what they launched, whenever it
/// ran. A stream and a name choose operations: of the calls those stay that launched them or in
/// which the host waits for them; ranges of the host stay, since they say who launched the rest.
/// InputError where nothing is left.
void keep(const Filter& filter, Trace& trace);
/// Whether it holds nothing that has a time: what is there describes nothing.
bool holds_no_event(const Trace& trace);
/// When the first of its events began, of which `time_ns` counts; of the whole trace where only a
/// part of it is left.
std::int64_t first_event(const Trace& trace);

}  // namespace nsa::trace
