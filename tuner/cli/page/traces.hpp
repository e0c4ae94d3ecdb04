// What the time of steps went to, by trace, for the plots of the page.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/json.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa::cli {

/// A list of {name, devices, all_steps, steps: [{name, span_ns, stages: [[stage, ns]],
/// unattributed_ns, idle_ns, idle: {class: ns}}], peak_allocated_bytes, kernels: [[name, calls,
/// total_ns]], why}: of each file the first steps and the kernels with the largest totals. `why` is
/// given where there is no step. Parts of a step add up to its span.
/// @param files  as on the command line; folders stand for the traces in them
Json traces_json(const std::vector<std::string>& files);

/// One entry of it, of a trace that was read and summarised.
Json trace_json(const trace::Trace& trace, const trace::Summary& summary);

/// What the page of a trace calls what a summary has short keys for: {what_if: {what: words}}.
Json trace_words();

}  // namespace nsa::cli
