// Along the critical path, from its end to its beginning.
#pragma once

#include "nsa/trace/critical_path.hpp"
#include "schedule.hpp"

namespace nsa::trace {

/// Start, length and parts. At least one operation.
CriticalPath walk_path(const TraceContext& context, const PathGraph& graph,
                       const Schedule& schedule);

/// What an operation is called there: "kernel", "copy", "memset", "collective", "graph".
const char* path_kind(const TraceContext& context, std::uint32_t op);

/// What the trace would be without its largest parts. `path` has the parts.
void add_what_ifs(const TraceContext& context, const PathGraph& graph, const Schedule& schedule,
                  CriticalPath& path);

}  // namespace nsa::trace
