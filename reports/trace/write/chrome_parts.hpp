// The parts of a Chrome trace, one file each.
#pragma once

#include <cstdint>
#include <vector>

#include "chrome_texts.hpp"

namespace nsa::trace {

/// Arrows from launches to what they launched: each its own id, since the nodes of a graph share
/// their launch. Both ends have to lie in slices of some length, the second after the first.
struct Arrows {
  explicit Arrows(const Trace& trace);
  std::vector<std::uint32_t> begin;  // [calls + 1] where the call's operations stand in `ops`
  std::vector<std::uint32_t> ops;    // operations by launch call
  std::vector<char> drawn;           // [ops of the trace]
};

struct ChromeParts {
  const Trace& trace;
  const ChromeTexts& texts;
  const Arrows& arrows;
  Rows& rows;
  TextBuffer& out;
  EventList& events;

  void times(std::int64_t start_ns, std::int64_t end_ns) const {
    out << ",\"ts\":";
    out.microseconds(texts.from_origin(start_ns)) << ",\"dur\":";
    out.microseconds(end_ns - start_ns);
  }
  void time(std::int64_t at_ns) const {
    out << ",\"ts\":";
    out.microseconds(texts.from_origin(at_ns));
  }
};

/// Kernels, copies, memsets, synchronisations: a row for each stream.
void write_gpu(const ChromeParts& parts);
/// Calls and ranges of host threads.
void write_host(const ChromeParts& parts);
/// Ranges over threads, marks, memory, counters, the profiler's own time.
void write_others(const ChromeParts& parts);
/// The names of rows; last, since some rows are made on the way.
void write_names(const ChromeParts& parts);
/// What stands in front of the events.
void write_head(const Trace& trace, const ChromeTexts& texts, const Rows& rows, TextBuffer& out);

}  // namespace nsa::trace
