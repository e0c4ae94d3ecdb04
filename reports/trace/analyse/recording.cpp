#include "parts.hpp"

namespace nsa::trace {

void add_recording(const Trace& trace, Summary& out) {
  std::vector<RecordingRow> rows;
  for (const ProcessInfo& process : trace.processes) {
    if (!process.totals) continue;
    RecordingRow row{process.pid, process.rank, *process.totals, {}, process.notes};
    const Totals& t = row.totals;
    if (t.launches) row.all_there = *t.launches == t.recorded + t.dropped + t.lost + t.outside;
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    out.null_reasons["recording"] = "the source does not count what it recorded and dropped";
  } else {
    out.recording = std::move(rows);
  }
}

}  // namespace nsa::trace
