// Ranges that profilers and our own tracer show: a few nanoseconds where nobody listens, nothing in
// a build without the toolkit.
#pragma once

namespace nsa::probes {

/// Opens a range on this thread. `name` ends with a zero.
void push_range(const char* name) noexcept;
/// Closes the innermost open one.
void pop_range() noexcept;

/// A range as a scope.
class Range {
 public:
  explicit Range(const char* name) noexcept { push_range(name); }
  ~Range() { pop_range(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace nsa::probes
