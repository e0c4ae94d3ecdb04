// What to do about a trace, by what is in it.
#pragma once

#include <string>

#include "nsa/doctor/rule.hpp"

namespace nsa::doctor {

/// "was in aten::nonzero", "did nothing that was recorded".
std::string host_state_text(const trace::GapCause& cause);
/// "train.py:31 (load)"
std::string line_text(const trace::PythonLine& line);
/// "all_reduce of 25 MiB in dp by nccl: 3 ms of waiting for others".
std::string collective_text(const trace::CollectiveRow& row);

/// Idle time after launches whose kernels waited longer than a launch takes to reach the GPU: for
/// other streams, ranks or programs, and not for the host.
std::int64_t long_pending_ns(const TraceEvidence& trace);
/// Of the GPU that is idle most.
std::string idle_advice(const TraceEvidence& trace, const trace::GpuFigures& gpu);
/// Where the host is too slow for what it launches.
std::string host_advice(const TraceEvidence& trace);
/// Of calls in which the host waits; empty: what the rule says.
void advise_on_waits(const TraceEvidence& trace, Found& found);
/// Of copies between host and device.
std::string copy_advice(const TraceEvidence& trace);
void advise_on_communication(const TraceEvidence& trace, Found& found);

}  // namespace nsa::doctor
