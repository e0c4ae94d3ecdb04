// What the rules over traces share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rules.hpp"

namespace nsa::doctor {

/// Of what a gain is of: to win less is no finding.
inline constexpr double kNoiseShare = .01;

/// Calls `judge` for each trace that holds GPU operations. Findings that can win less than one
/// percent of the time that their gain is of are dropped; facts come with the longest first.
Founds each_trace(const RunEvidence& evidence,
                  const std::function<void(const TraceEvidence&, Founds&)>& judge);
double share_of(std::int64_t part, std::int64_t whole);           // 0 where there is no whole
bool most(std::optional<std::int64_t> part, std::int64_t whole);  // more than half of it
Group total_of(const std::vector<Group>& groups);
/// "cudaStreamSynchronize in aten::item"
std::string in_text(const Group& group);
std::vector<Group> first_of(const std::vector<Group>& groups, std::size_t most);
const Group* suspect(const TraceEvidence& trace, std::string_view name);
std::int64_t steps_of(const TraceEvidence& trace);  // 1 where none were found
/// ", 12 a step", ", about 3 a step", ", less than once a step"; "" where no steps are known.
std::string a_step(const TraceEvidence& trace, std::int64_t count);
std::vector<std::uint64_t> ids_of(std::uint64_t id);

/// A GPU of a trace and what it is called: "the GPU", or "GPU 3" of several.
struct OneGpu {
  std::string name;
  trace::GpuFigures gpu;
  std::size_t of = 1;  // so many have work in the trace
};
/// The one that loses most. The trace is longer by what one GPU loses: what several lose at the
/// same time does not add up, and work of one makes up for nothing that another one loses.
OneGpu worst_gpu(const TraceEvidence& trace,
                 const std::function<std::int64_t(const trace::GpuFigures&)>& lost_ns);
/// " on GPU 3" of several; "" of one.
std::string on_gpu(const OneGpu& gpu);
/// ", most of 8 GPUs"; "" of one.
std::string most_of(const OneGpu& worst);
/// Idle time that the program is the cause of: the profiler's own is not.
std::int64_t own_idle_ns(const trace::GpuFigures& gpu);
/// Idle time in which nothing was launched and the host waited for nothing: it was at work.
std::int64_t host_idle_ns(const trace::GpuFigures& gpu);

/// The question about all of that kind (WhatIf::what); nullptr: not asked.
const trace::WhatIf* what_if(const TraceEvidence& trace, std::string_view what);
/// What the critical path would be shorter by without all of that kind; absent:
/// there is no path.
std::optional<std::int64_t> path_gain_ns(const TraceEvidence& trace, std::string_view what);
/// As a share of the trace's span; 0 where there is no path.
double path_share(const TraceEvidence& trace, std::string_view what);
/// The same as a gain, no more than `most`, which it is where there is no path. `without` says in
/// words what would be gone.
Gain path_gain(const TraceEvidence& trace, std::string_view what, const Gain& most,
               const std::string& without);
/// All idle time of the GPU that is idle most, but the profiler's own.
Gain idle_gain(const TraceEvidence& trace);
/// Of all operations those that graphs launched.
double graph_share(const TraceEvidence& trace);
/// Of the time of all operations that of what torch.compile has made: both passes.
double compiled_share(const TraceEvidence& trace);
/// Whether stages of NSA were named: what is said of NSA's switches holds for nothing else, and an
/// order of operators proves nothing.
bool is_nsa(const TraceEvidence& trace);

}  // namespace nsa::doctor
