#include "nsa/reports/launch_text.hpp"

#include <fmt/format.h>

#include "nsa/reports/text_table.hpp"

namespace nsa::reports {

std::string launch_trace_text(const LaunchTraceRow& row) {
  const LaunchTrace& t = row.trace;
  const Problem& p = row.problem;
  std::string text = fmt::format(
      "{}  {} seq_len {} context {} batch {} {} {}\n  {} launches, {} host waits, {} allocations, "
      "copied {} B to the device, {} B from it, {} B within; set {} B; busy {:.1f} of {:.1f} us\n",
      printable(to_string(row.variant)), to_string(p.phase), p.max_seq_len(), p.max_context(),
      p.batch(), to_string(p.dtype), to_string(row.launch), t.launches, t.host_waits, t.allocations,
      t.host_to_device_bytes, t.device_to_host_bytes, t.device_to_device_bytes, t.memset_bytes,
      1e-3 * static_cast<double>(t.busy_ns), 1e-3 * static_cast<double>(t.span_ns));
  if (t.dropped > 0) text += fmt::format("  {} records were lost\n", t.dropped);
  if (!t.note.empty()) text += fmt::format("  {}\n", printable(t.note));
  for (const TracedKernel& kernel : t.kernels) {
    text += fmt::format("  {:>6} x {:>10.1f} us  {}\n", kernel.count,
                        1e-3 * static_cast<double>(kernel.total_ns), printable(kernel.name));
  }
  return text;
}

}  // namespace nsa::reports
