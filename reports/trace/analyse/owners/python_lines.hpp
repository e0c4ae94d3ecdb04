// Which line of the program the host was at, by samples of Python's stack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "nsa/trace/model.hpp"
#include "nsa/trace/tables.hpp"

namespace nsa::trace {

class PythonLines {
 public:
  explicit PythonLines(const Trace& trace);
  bool any() const noexcept { return !trace_.python_samples.empty(); }

  /// Calls `visit(frame, samples)` for the stacks of a process that have samples from one moment on
  /// and before another one.
  template <class Visit>
  void visit(std::uint32_t process, std::int64_t from_ns, std::int64_t until_ns,
             Visit visit_one) const {
    if (process >= of_process_.size()) return;
    const std::vector<PythonSample>& samples = of_process_[process];
    auto at = std::partition_point(samples.begin(), samples.end(), [&](const PythonSample& s) {
      return s.at_ns + s.period_ns * (std::int64_t{s.count} - 1) < from_ns;
    });
    for (; at != samples.end() && at->at_ns < until_ns; ++at) {
      const std::int64_t count = before(*at, until_ns) - before(*at, from_ns);
      if (count > 0) visit_one(at->frame, count);
    }
  }

 private:
  /// Moments of a sample before another one.
  static std::int64_t before(const PythonSample& s, std::int64_t ns) {
    if (ns <= s.at_ns) return 0;
    return std::min<std::int64_t>(s.count, (ns - s.at_ns - 1) / s.period_ns + 1);
  }

  const Trace& trace_;
  std::vector<std::vector<PythonSample>> of_process_;  // in order, none within another one
};

/// Samples by line, and within a line by the innermost frame.
class LineCounts {
 public:
  void add(std::uint32_t frame, std::int64_t samples);
  void add(const LineCounts& others);
  std::int64_t samples() const noexcept { return samples_; }
  /// Those with most samples, the most first.
  std::vector<PythonLine> largest(const Trace& trace, std::size_t most) const;

 private:
  std::unordered_map<std::uint32_t, std::int64_t> by_frame_;  // innermost
  std::int64_t samples_ = 0;
};

}  // namespace nsa::trace
