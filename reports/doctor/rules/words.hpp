// What the rules share: numbers as text, and facts made of a setting or a group of events.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/doctor/rule.hpp"

namespace nsa::doctor {

std::string time_text(std::int64_t ns);      // "812 ns", "18.3 us", "4.12 ms", "1.20 s"
std::string percent_text(double share);      // .814 -> "81.4 %"
std::string count_text(std::int64_t count);  // "1,152"
std::string gib_text(double bytes);          // "1.97 GiB"

/// The lines of a log with that signal; null where there are none.
const Hits* hits_of(const LogEvidence& log, Signal signal);

/// "NSA_USE_FA2=1" of an environment; with an absent variable "NSA_USE_FA2 is not set".
Fact fact_of(const EnvironmentEvidence& environment, std::string_view name);
Fact fact_of(const ConfigEvidence& config, std::string_view key);
Fact fact_of(const TraceEvidence& trace, const Group& group, const std::string& what);
Fact fact_of(const LogEvidence& log, const Hits& hits);
Fact fact_at(const std::string& file, std::int64_t line, std::string what);

/// How to switch gradient checkpointing off, with the key of a config that has it; "": none does.
std::string checkpointing_advice(const RunEvidence& evidence);

/// No bound can be given; why.
Gain unknown_gain(std::string basis);
/// At most `ns` of the span of the trace.
Gain gain_in(const TraceEvidence& trace, std::int64_t ns, std::string basis);
/// ", of all GPUs together"; "" where there is one.
std::string of_all_gpus(const TraceEvidence& trace);
/// At most `ns` of the time of all GPUs together: for work that is known only as their sum.
Gain gain_of_work(const TraceEvidence& trace, std::int64_t ns, std::string basis);
inline constexpr std::string_view kSettingGain = "a setting alone does not say how much it costs";

}  // namespace nsa::doctor
