// What a recorder says that some ranges of a process are called.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

class RecordedNames {
 public:
  /// `key`: of ProcessInfo::metadata, such as kStepsRecorded.
  RecordedNames(const Trace& trace, const char* key);
  bool empty() const;
  bool hold(std::uint32_t process, std::string_view name) const;
  /// Of any process.
  bool hold(std::string_view name) const;

 private:
  std::vector<std::set<std::string, std::less<>>> names_;  // [processes]
};

}  // namespace nsa::trace
