// What of a trace is compared: samples of everything that has a name.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "nsa/trace/diff.hpp"
#include "nsa/trace/model.hpp"
#include "profile.hpp"

namespace nsa::trace {

struct Samples {
  std::vector<std::int64_t> calls;  // duration of each operation
  std::vector<std::int64_t> steps;  // [steps] sum of the operations launched in it
  std::int64_t total_ns = 0;
};

struct Profile {
  std::set<std::string> gpus;                      // names of the devices that worked
  std::size_t processes = 0;                       // whose operations were recorded
  std::vector<std::int64_t> step_ns;               // duration of each step that is whole
  bool last_left_out = false;                      // a last step whose end nothing marks
  std::map<std::string, Samples> kernels, stages;  // by name; kernels: copies and memsets too
  std::map<std::string, Samples> launches;         // kernels by name and launch shape
};

Profile profile_of(const Trace& trace);

/// Fills the reasons and the notes.
void judge_comparable(const Trace& a, const Trace& b, const Profile& in_a, const Profile& in_b,
                      TraceDiff& out);

}  // namespace nsa::trace
