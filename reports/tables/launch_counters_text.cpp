#include "nsa/reports/launch_text.hpp"

#include <fmt/format.h>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"

namespace nsa::reports {
namespace {

/// What `format` makes of the value, or "-" where it was not read.
template <class T>
std::string or_dash(const std::optional<T>& value, std::string (*format)(T)) {
  return value ? format(*value) : "-";
}

std::string counted_text(const LaunchCounters& c) {
  return fmt::format(
      "  busy {}: DRAM {}, L2 {}, tensor pipes {} of their peaks; DRAM read {}, written {}\n",
      or_dash(c.busy_ns, format_ns), or_dash(c.dram_share, format_percent),
      or_dash(c.l2_share, format_percent), or_dash(c.tensor_share, format_percent),
      or_dash(c.dram_read_bytes, format_bytes), or_dash(c.dram_write_bytes, format_bytes));
}

}  // namespace

std::string launch_counters_text(const LaunchCountersRow& row) {
  const Problem& p = row.problem;
  std::string text = fmt::format("{}  {} seq_len {} context {} batch {} {} {} {}\n",
                                 printable(to_string(row.variant)), to_string(p.phase),
                                 p.max_seq_len(), p.max_context(), p.batch(), to_string(p.dtype),
                                 to_string(row.launch), row.cold ? "cold" : "warm");
  if (row.outcome != Outcome::ok)
    return text + fmt::format("  {}: {}\n", to_string(row.outcome), printable(row.reason));
  text += counted_text(row.counters);
  if (!row.counters.note.empty()) text += fmt::format("  {}\n", printable(row.counters.note));
  return text;
}

}  // namespace nsa::reports
