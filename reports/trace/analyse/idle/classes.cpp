#include "gaps.hpp"

namespace nsa::trace {

IdleClasses classify_idle(const TraceContext& context, const OpIndices& ops) {
  IdleClasses out;
  if (context.trace.source.holds_overhead) out.profiler_overhead = 0;
  if (!context.trace.calls.empty())
    for (auto IdleClasses::*known : {&IdleClasses::host_wait, &IdleClasses::kernel_wait,
                                     &IdleClasses::sync, &IdleClasses::blocking_call})
      out.*known = 0;
  for_each_gap(context, ops, [&](const IdleGap& gap) {
    for (const IdlePart& part : gap.parts) switch (part.cause) {
        case IdleClass::host_wait:
          *out.host_wait += part.ns;
          break;
        case IdleClass::kernel_wait:
          *out.kernel_wait += part.ns;
          break;
        case IdleClass::sync:
          *out.sync += part.ns;
          break;
        case IdleClass::blocking_call:
          *out.blocking_call += part.ns;
          break;
        case IdleClass::profiler_overhead:
          *out.profiler_overhead += part.ns;
          break;
        case IdleClass::other:
          out.other += part.ns;
          break;
      }
  });
  return out;
}

}  // namespace nsa::trace
