// Summaries of an NVBench state: a tag, and named values as texts.
#pragma once

#include <string>

#include "foreign.hpp"
#include "group.hpp"
#include "tree.hpp"

namespace nsa::exchange {

inline constexpr const char* kSampleTimes = "nv/json/bin:nv/cold/sample_times";
inline constexpr const char* kOwnRows = "nsatune/rows";

/// The summary with that tag, or null.
const Tree* summary_of(const Tree& state, const char* tag);
/// A value of it by name, as text. InputError where it is missing.
std::string datum(const Tree& summary, const char* name, const std::string& where);
/// All summaries of a configuration: statistics in seconds, the sidecar's name (none where it is
/// empty), and our own fields.
Tree summaries_of(const Group& group, const std::string& sidecar);
/// The median, else the mean, of a state without sidecar, as the one sample of a record.
void take_statistic(Record& record, const Tree& state, const std::string& where);

}  // namespace nsa::exchange
