#include "context.hpp"

#include "launches.hpp"

namespace nsa::trace {

Context::Context(const Trace& of) : trace(of), launch(launches_of(of)) {
  for (NameId id = 0; id < trace.names.size(); ++id) {
    is_comm_name.push_back(is_comm_kernel(trace.names.text(id)));
    is_sync_name.push_back(is_host_sync(trace.names.text(id)));
  }
  std::vector<Interval> waits, own;
  for (const ApiCall& call : trace.calls)
    if (is_sync_name[call.name]) waits.push_back({call.start_ns, call.end_ns});
  for (const Overhead& o : trace.overheads)
    if (o.of_profiler) own.push_back({o.start_ns, o.end_ns});
  syncs = union_of(std::move(waits));
  overheads = union_of(std::move(own));
}

}  // namespace nsa::trace
