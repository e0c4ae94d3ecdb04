// Tokens per second against what the users' reports expect of their 125M model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rules.hpp"

namespace nsa::doctor {

inline constexpr double kCollapsedTokPerS = 10;  // 004:82
inline constexpr double kTargetTokPerS = 300;    // 000:6, the lower end

/// Where it says that the run is of the users' 125M model: a line of this log (nullptr: there is
/// none), a config or another log that came with it. Absent: the run may be of any model, of which
/// no target is known.
std::optional<Fact> of_125m(const RunEvidence& evidence, const LogEvidence* log);
/// A finding where the median lies in [from, to).
Founds throughput_between(const std::vector<double>& values, double from, double to,
                          const std::string& file, std::int64_t line, const char* message);

}  // namespace nsa::doctor
