// What a thread of the host does at any moment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/context.hpp"

namespace nsa::trace {

struct Doing {
  std::string what, name;  // api, operator, annotation and its name; nothing_recorded
};

class HostAt {
 public:
  explicit HostAt(const Context& context);
  Doing doing(std::uint32_t thread, std::int64_t at_ns) const;
  /// The innermost range around a moment; kNone = none.
  std::uint32_t range_at(std::uint32_t thread, std::int64_t at_ns) const;

 private:
  const Context& context_;
  std::vector<std::vector<std::uint32_t>> calls_, ranges_;  // [threads], in order of start
};

}  // namespace nsa::trace
