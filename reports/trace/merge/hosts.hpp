// Which recordings are of one host, and how its own clocks relate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

class Hosts {
 public:
  /// A recording that does not name its host, or whose times cannot be compared with others of it,
  /// counts as a host of its own.
  explicit Hosts(const std::vector<Trace>& traces);

  std::size_t count() const noexcept { return first_.size(); }
  std::size_t of(std::size_t trace) const { return host_[trace]; }
  /// The first trace of a host.
  std::size_t first_of(std::size_t host) const { return first_[host]; }
  /// "host a", "hosts a and b", "3 hosts", as far as they are named.
  const std::string& names() const noexcept { return names_; }
  /// [traces] what is added to the times of each to have them on the clock of its host's first.
  const std::vector<std::int64_t>& shifts() const noexcept { return shift_; }
  /// The same for the clock of the first trace, by absolute times. False where one states none;
  /// InputError where they leave 64 bits.
  bool absolute_shifts(std::vector<std::int64_t>& shift_ns) const;

 private:
  struct Clock {
    std::string host, path;
    bool monotonic = false;
    std::optional<std::int64_t> base_ns;
  };
  static Clock clock_of(const Trace& trace);
  static std::optional<std::int64_t> shift_between(const Clock& target, const Clock& clock);

  std::vector<Clock> clocks_;
  std::vector<std::size_t> host_, first_;
  std::vector<std::int64_t> shift_;
  std::string names_;
};

}  // namespace nsa::trace
