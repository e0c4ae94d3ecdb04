#include "sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"
#include "words.hpp"

namespace nsa::reports {
namespace {

using trace::GpuFigures;
using trace::Summary;

std::string operations_text(std::int64_t count) {
  return fmt::format("{} operation{}", format_tokens(count), count == 1 ? "" : "s");
}

std::string idle_causes(const GpuFigures& gpu) {
  std::string text;
  const auto add = [&](const std::string& cause, std::optional<std::int64_t> value) {
    if (!value || *value == 0) return;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", cause, with_share(*value, gpu.idle_ns));
  };
  const trace::IdleClasses& c = gpu.idle_by_class_ns;
  add(time_word("host_wait"), c.host_wait);
  add(time_word("kernel_wait"), c.kernel_wait);
  add(time_word("sync"), c.sync);
  add(time_word("blocking_call"), c.blocking_call);
  add(time_word("profiler_overhead"), c.profiler_overhead);
  add(time_word("other"), c.other);
  return text.empty() ? "-" : text;
}

/// What is not known of exposed communication: whether anything waited for it.
std::string exposed_doubt(const Summary& s) {
  if (by_operation(s.part)) return "; what was left out may hide some of it";
  return s.exposed_comm_doubt();
}

TextTable overview(const Summary& s) {
  TextTable table;
  table.add_column("GPU time");
  table.add_column("");
  if (const auto& gpu = s.gpu) {
    const std::int64_t time = gpu->device_ns();  // of all devices together
    table.add_row({"span", ns(gpu->span_ns)});
    if (s.worst_device)
      table.add_row(
          {"devices", fmt::format("{}, {} together; most is lost on {}", s.devices.size(), ns(time),
                                  device_name(s, s.devices.at(*s.worst_device)))});
    table.add_row({"busy", with_share(gpu->busy_ns, time)});
    table.add_row({"idle", with_share(gpu->idle_ns, time)});
    table.add_row({"idle because of", idle_causes(*gpu)});
    if (gpu->whole_graphs == 0) {
      table.add_row({"compute", with_share(gpu->compute_ns, time)});
      table.add_row({"copies and memsets", with_share(gpu->mem_ns, time)});
    }
    if (gpu->comm_ns > 0 && gpu->whole_graphs == 0)
      table.add_row({"communication", fmt::format("{}, exposed {}{}", ns(gpu->comm_ns),
                                                  with_share(gpu->exposed_comm_ns, gpu->comm_ns),
                                                  exposed_doubt(s))});
  }
  if (s.sums && s.sums->whole_graphs > 0)
    table.add_row(
        {"graphs", fmt::format("{} launches recorded as a whole: what is in them is unknown",
                               format_tokens(s.sums->whole_graphs))});
  if (s.sums)
    table.add_row(
        {"operations", fmt::format("{} kernel{} ({} different), {} {}",
                                   format_tokens(s.sums->kernels), s.sums->kernels == 1 ? "" : "s",
                                   s.sums->distinct_kernels, format_tokens(s.sums->memops),
                                   s.sums->memops == 1 ? "copy or memset" : "copies and memsets")});
  if (s.sums && s.sums->graph_nodes > 0)
    table.add_row({"out of graphs", fmt::format("{} of them; kernels of a graph share its launch",
                                                format_tokens(s.sums->graph_nodes))});
  if (s.launch_to_start_ns)
    table.add_row({"launch to start",
                   fmt::format("median {}, p99 {}, longest {}", ns(s.launch_to_start_ns->p50),
                               ns(s.launch_to_start_ns->p99), ns(s.launch_to_start_ns->max))});
  if (s.gpu_ops_without_launch.value_or(0) > 0)
    table.add_row({"launch unknown of", operations_text(*s.gpu_ops_without_launch)});
  if (s.gpu_ops_without_time > 0)
    table.add_row(
        {"without a time",
         operations_text(static_cast<std::int64_t>(s.gpu_ops_without_time)) + ", in no figure"});
  if (s.memory && s.memory->peak_allocated_bytes)
    table.add_row({"memory", fmt::format("peak {} allocated, {} reserved",
                                         format_bytes(*s.memory->peak_allocated_bytes),
                                         format_bytes(s.memory->peak_reserved_bytes.value_or(0)))});
  return table;
}

/// One row a line: a hang says where several threads stand.
void add_note(TextTable& table, const trace::Note& note) {
  std::istringstream lines(note.text);
  for (std::string line; std::getline(lines, line);)
    table.add_row(
        {Cell{"  " + short_name(note.what), Ink::dim}, "", "", "", "", "", short_name(line)});
}

TextTable recording(const Summary& s) {
  TextTable table;
  table.add_column("process");
  table.add_columns({"launches", "recorded", "dropped", "lost", "outside"}, Align::right);
  table.add_column("");
  const auto count = [](std::uint64_t n) { return format_tokens(static_cast<std::int64_t>(n)); };
  for (const auto& row : s.recording.value_or(std::vector<trace::RecordingRow>{})) {
    const trace::Totals& t = row.totals;
    std::string state =
        t.complete ? "complete" : "ended without its exit handler: the end is missing";
    if (row.all_there && !*row.all_there) state += "; counts do not add up";
    table.add_row({(row.rank ? fmt::format("rank {}, ", *row.rank) : "") + printable(row.pid),
                   t.launches ? count(*t.launches) : "-", count(t.recorded), count(t.dropped),
                   count(t.lost), count(t.outside), state});
    for (const trace::Note& note : row.notes) add_note(table, note);
  }
  return table;
}

TextTable devices(const Summary& s) {
  TextTable table;
  table.add_column("device");
  add_scope_columns(table);
  const auto add = [&](const std::string& what, const GpuFigures& gpu) {
    std::vector<Cell> cells = scope_cells(gpu);
    cells.insert(cells.begin(), what);
    table.add_row(std::move(cells));
  };
  for (const trace::DeviceSummary& d : s.devices) {
    add(device_name(s, d), d.gpu);
    if (d.streams.size() < 2) continue;
    for (const auto& stream : d.streams) add(fmt::format("  stream {}", stream.stream), stream.gpu);
  }
  return table;
}

}  // namespace

std::string overview_text(const Summary& s, const Page& page) {
  const Page whole{page.style, std::string::npos};  // no word of it goes
  return section("Overview", overview(s), whole) + section("Recording", recording(s), page) +
         section("Devices and streams", devices(s), page);
}

}  // namespace nsa::reports
