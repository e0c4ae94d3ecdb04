#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "nsa/reports/text_table.hpp"
#include "nsa/reports/trace_table.hpp"
#include "nsa/reports/units.hpp"
#include "trace_communication.hpp"
#include "trace_path.hpp"

namespace nsa::reports {
namespace {

using trace::GpuFigures;
using trace::Summary;

constexpr std::size_t kNameColumns = 72, kMostSteps = 10, kIndent = 2;

/// How the text is laid out.
struct Page {
  Style style;
  std::size_t columns;
};

std::string ns(std::int64_t value) { return format_ns(static_cast<double>(value)); }
std::string name(const std::string& text) { return shortened(printable(text), kNameColumns); }
std::string share(std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return "-";
  return format_percent(static_cast<double>(part) / static_cast<double>(whole));
}
std::string spaced(std::string word) {
  std::replace(word.begin(), word.end(), '_', ' ');
  return word;
}
std::string with_share(std::int64_t part, std::int64_t whole) {
  return fmt::format("{} ({})", ns(part), share(part, whole));
}
/// Rows under a heading; nothing when there are none.
std::string section(const char* heading, TextTable table, const Page& page) {
  if (table.empty()) return {};
  table.fit(page.columns - std::min(page.columns, kIndent));
  const Style style = page.style;
  return "\n" + inked(heading, Ink::bold, style) + "\n" + table.render(style, kIndent);
}

std::string idle_causes(const GpuFigures& gpu) {
  std::string text;
  const auto add = [&](const char* cause, std::optional<std::int64_t> value) {
    if (!value || *value == 0) return;
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", cause, with_share(*value, gpu.idle_ns));
  };
  const trace::IdleClasses& c = gpu.idle_by_class_ns;
  add("host wait", c.host_wait);
  add("kernel wait", c.kernel_wait);
  add("sync", c.sync);
  add("blocking call", c.blocking_call);
  add("profiler", c.profiler_overhead);
  add("other", c.other);
  return text.empty() ? "-" : text;
}

/// "0 NVIDIA H200", with its recording where several were merged.
std::string device_name(const Summary& s, const trace::DeviceSummary& d) {
  const std::string trace = s.clocks ? fmt::format("trace {}: ", d.part) : "";
  return fmt::format("{}{} {}", trace, d.device, printable(d.name.value_or("")));
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
    if (gpu->comm_kernels > 0 && gpu->whole_graphs == 0)
      table.add_row({"communication", fmt::format("{}, exposed {}", ns(gpu->comm_ns),
                                                  with_share(gpu->exposed_comm_ns, gpu->comm_ns))});
  }
  if (s.sums && s.sums->whole_graphs > 0)
    table.add_row(
        {"graphs", fmt::format("{} launches recorded as a whole: what is in them is unknown",
                               format_tokens(s.sums->whole_graphs))});
  if (s.sums)
    table.add_row(
        {"operations", fmt::format("{} kernels ({} different), {} copies and memsets",
                                   format_tokens(s.sums->kernels), s.sums->distinct_kernels,
                                   format_tokens(s.sums->memops))});
  if (s.launch_to_start_ns)
    table.add_row({"launch to start",
                   fmt::format("median {}, p99 {}, longest {}", ns(s.launch_to_start_ns->p50),
                               ns(s.launch_to_start_ns->p99), ns(s.launch_to_start_ns->max))});
  if (s.gpu_ops_without_launch.value_or(0) > 0)
    table.add_row({"launch unknown of", fmt::format("{} operations", *s.gpu_ops_without_launch)});
  if (s.gpu_ops_without_time > 0)
    table.add_row(
        {"without a time", fmt::format("{} operations, in no figure", s.gpu_ops_without_time)});
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
    table.add_row({Cell{"  " + name(note.what), Ink::dim}, "", "", "", "", "", name(line)});
}

TextTable recording(const Summary& s) {
  TextTable table;
  table.add_column("process");
  for (const char* column : {"launches", "recorded", "dropped", "lost", "outside"})
    table.add_column(column, Align::right);
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

void add_scope_columns(TextTable& table) {
  for (const char* column : {"span", "busy", "compute", "comm", "exposed", "memory ops", "kernels"})
    table.add_column(column, Align::right);
}

std::vector<Cell> scope_cells(const GpuFigures& g) {
  if (g.whole_graphs > 0)
    return {ns(g.span_ns), share(g.busy_ns, g.device_ns()), "-", "-", "-", "-", "-"};
  return {ns(g.span_ns),           share(g.busy_ns, g.device_ns()), ns(g.compute_ns),
          ns(g.comm_ns),           ns(g.exposed_comm_ns),           ns(g.mem_ns),
          format_tokens(g.kernels)};
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

/// The first steps, the worst and the last: as many as the table has room for.
std::vector<std::size_t> shown_steps(const Summary& s, std::size_t top) {
  std::vector<std::size_t> shown;
  const std::size_t count = s.steps->size(), worst = s.step_times->worst;
  for (std::size_t i = 0; i < count; ++i)
    if (i < top || i == worst || i + 1 == count) shown.push_back(i);
  return shown;
}

TextTable steps(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_column("step");
  for (const char* column : {"host", "device", "waits"}) table.add_column(column, Align::right);
  add_scope_columns(table);
  if (!s.steps) return table;
  std::size_t next = 0;
  for (const std::size_t i : shown_steps(s, top)) {
    if (i > next) table.add_row({Cell{fmt::format("({} more)", i - next), Ink::dim}});
    next = i + 1;
    const trace::Step& step = (*s.steps)[i];
    std::vector<Cell> cells = step.gpu ? scope_cells(*step.gpu) : std::vector<Cell>{};
    const std::string process = s.clocks ? fmt::format("process {}: ", step.process) : "";
    cells.insert(cells.begin(),
                 {process + name(step.name), ns(step.duration_ns),
                  step.device_ns ? ns(*step.device_ns) : "-", format_tokens(step.host_syncs)});
    table.add_row(std::move(cells));
  }
  return table;
}

/// Which part made the worst step long, and where the steps come from if nobody marked them.
std::string step_times(const Summary& s) {
  if (!s.step_times) return {};
  const trace::StepTimes& t = *s.step_times;
  std::string text =
      fmt::format("  {} steps: median {}, p95 {}, worst {} ({})", t.count, ns(t.median_ns),
                  ns(t.p95_ns), ns(t.worst_ns), name((*s.steps)[t.worst].name));
  for (std::size_t i = 0; i < t.causes.size() && i < 3; ++i) {
    if (t.causes[i].more_ns * 100 < t.median_ns) break;
    text += fmt::format("{}{} {}", i == 0 ? "; it took longer for " : ", ",
                        spaced(t.causes[i].what), ns(t.causes[i].more_ns));
  }
  if (s.steps->front().source == "repeating_kernels")
    text += fmt::format(
        "\n  No step was marked: these are the longest sequence of kernels that repeats, {} of "
        "them",
        format_tokens(s.steps->front().gpu ? s.steps->front().gpu->kernels : 0));
  return text + "\n";
}

TextTable copies(const Summary& s) {
  TextTable table;
  table.add_column("copies");
  table.add_column("memory");
  for (const char* column : {"count", "bytes", "time", "share", "median GB/s", "best GB/s"})
    table.add_column(column, Align::right);
  if (!s.copies || !s.sums) return table;
  const auto rate = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.3g}", *value) : "-";
  };
  for (const trace::CopyRow& row : *s.copies)
    table.add_row({row.kind, row.memory.value_or("-"), format_tokens(row.count),
                   format_bytes(row.bytes), ns(row.total_ns),
                   share(row.total_ns, s.sums->op_sum_ns), rate(row.median_gb_per_s),
                   rate(row.best_gb_per_s)});
  return table;
}

TextTable stages(const Summary& s) {
  TextTable table;
  table.add_column("stage");
  for (const char* column : {"GPU time", "share", "kernels", "host syncs", "in syncs"})
    table.add_column(column, Align::right);
  if (!s.stages || !s.sums) return table;
  for (const trace::StageRow& row : *s.stages)
    table.add_row({(row.parent ? *row.parent + "/" : "") + row.stage, ns(row.total_ns),
                   share(row.total_ns, s.sums->op_sum_ns), format_tokens(row.kernels),
                   format_tokens(row.host_syncs), ns(row.host_sync_ns)});
  table.add_row({Cell{"unattributed", Ink::dim}, ns(*s.unattributed_ns),
                 share(*s.unattributed_ns, s.sums->op_sum_ns)});
  return table;
}

TextTable host_syncs(const Summary& s) {
  TextTable table;
  table.add_column("host waits in");
  table.add_column("for");
  table.add_column("stage");
  table.add_column("calls", Align::right);
  table.add_column("time", Align::right);
  for (const auto& row : s.host_syncs.value_or(std::vector<trace::HostSync>{}))
    table.add_row({name(row.api), spaced(row.wait), row.stage.value_or("-"),
                   format_tokens(row.count), ns(row.total_ns)});
  return table;
}

TextTable gaps(const Summary& s, std::size_t top) {
  TextTable table;
  for (const char* column : {"idle", "share", "gaps"}) table.add_column(column, Align::right);
  table.add_column("while the host");
  if (!s.gaps) return table;
  std::int64_t all = 0;
  for (const trace::GapCause& cause : s.gaps->causes) all += cause.total_ns;
  for (const trace::GapCause& cause : s.gaps->causes) {
    if (top-- == 0) break;
    const std::string what = cause.what == "launch_pending"     ? "had launched already"
                             : cause.what == "nothing_recorded" ? "did nothing that was recorded"
                             : cause.what == "launch_unknown"   ? "(the launch is unknown)"
                                                                : "was in " + printable(cause.name);
    table.add_row(
        {ns(cause.total_ns), share(cause.total_ns, all), format_tokens(cause.count), what});
  }
  return table;
}

TextTable operators(const Summary& s, std::size_t top) {
  TextTable table;
  for (const char* column :
       {"GPU alone", "share", "with children", "calls", "host alone", "TFLOP/s"})
    table.add_column(column, Align::right);
  table.add_column("operator");
  if (!s.operators || !s.sums) return table;
  for (const trace::OperatorRow& row : *s.operators) {
    if (top-- == 0) break;
    const bool rate = row.flop.value_or(0) > 0 && row.gpu_ns > 0;
    table.add_row(
        {ns(row.gpu_self_ns), share(row.gpu_self_ns, s.sums->op_sum_ns), ns(row.gpu_ns),
         format_tokens(row.count), ns(row.host_self_ns),
         rate ? fmt::format("{:.3g}", 1e-3 * *row.flop / static_cast<double>(row.gpu_ns)) : "-",
         printable(row.name)});
  }
  return table;
}

TextTable annotations(const Summary& s, std::size_t top) {
  TextTable table;
  for (const char* column : {"projected", "GPU time", "host", "ranges"})
    table.add_column(column, Align::right);
  table.add_column("annotation");
  for (const auto& row : s.annotations.value_or(std::vector<trace::AnnotationRow>{})) {
    if (top-- == 0) break;
    table.add_row({ns(row.projected_ns), ns(row.gpu_ns), ns(row.host_ns), format_tokens(row.count),
                   printable(row.name)});
  }
  return table;
}

TextTable modules(const Summary& s, std::size_t top) {
  TextTable table;
  for (const char* column : {"forward", "alone", "backward", "calls", "host"})
    table.add_column(column, Align::right);
  table.add_column("module");
  for (const auto& row : s.modules.value_or(std::vector<trace::ModuleRow>{})) {
    if (top-- == 0) break;
    table.add_row({ns(row.gpu_ns), ns(row.gpu_self_ns), ns(row.backward_ns),
                   format_tokens(row.count), ns(row.host_ns), printable(row.name)});
  }
  return table;
}

TextTable gpu_ranges(const Summary& s, std::size_t top) {
  TextTable table;
  for (const char* column : {"total", "ranges", "median", "max"})
    table.add_column(column, Align::right);
  table.add_column("range");
  for (const auto& row : s.gpu_ranges_by_name.value_or(std::vector<trace::TimesByName>{})) {
    if (top-- == 0) break;
    table.add_row({ns(row.total_ns), format_tokens(row.count), ns(row.median_ns), ns(row.max_ns),
                   printable(row.name)});
  }
  return table;
}

TextTable kernels(const Summary& s, std::size_t top) {
  TextTable table;
  table.add_column("total", Align::right);
  table.add_column("share", Align::right);
  for (const char* column : {"calls", "median", "max"}) table.add_column(column, Align::right);
  table.add_column("kernel");
  if (!s.kernels_by_name || !s.sums) return table;
  for (const trace::KernelRow& row : *s.kernels_by_name) {
    if (top-- == 0) break;
    const std::string mark = row.attention_backend ? "[" + *row.attention_backend + "] " : "";
    table.add_row({ns(row.total_ns), share(row.total_ns, s.sums->kernel_sum_ns),
                   format_tokens(row.count), ns(row.median_ns), ns(row.max_ns),
                   mark + printable(row.name)});
  }
  return table;
}

/// Each reason once, with the figures that it explains.
std::string absences(const Summary& s) {
  std::map<std::string, std::string> keys;
  for (const auto& [key, reason] : s.null_reasons) {
    std::string& list = keys[reason];
    list += (list.empty() ? "" : ", ") + key;
  }
  std::string text;
  for (const auto& [reason, list] : keys) text += fmt::format("  {}: {}\n", list, reason);
  return text.empty() ? text : "\nNot known:\n" + text;
}

}  // namespace

std::string trace_summary_table(const Summary& s, std::size_t top, Style style,
                                std::size_t columns) {
  const Page page{style, columns};
  std::string text = fmt::format("{}: {}, {} events\n", printable(s.path), s.format,
                                 format_tokens(static_cast<std::int64_t>(s.events)));
  text += section("Overview", overview(s), {style, std::string::npos});  // no word of it goes
  text += section("Recording", recording(s), page);
  text += section("Devices and streams", devices(s), page);
  text += section("Steps", steps(s, std::min(top, kMostSteps)), page) + step_times(s);
  text += section("Stages", stages(s), page);
  text += section("Waits of the host", host_syncs(s), page);
  text += critical_path_text(s, std::min(top, kMostSteps), style, columns);
  text += communication_text(s, std::min(top, kMostSteps), style, columns);
  text += section("Copies and memsets", copies(s), page);
  text += section("Idle time", gaps(s, std::min(top, kMostSteps)), page);
  text += section("Modules", modules(s, top), page);
  text += section("Operators by GPU time of their own", operators(s, top), page);
  text += section("Annotations, from the first to the last of what they launched",
                  annotations(s, top), page);
  text += section("Ranges on the GPU, gaps included", gpu_ranges(s, top), page);
  text += section("Kernels by total time", kernels(s, top), page);
  return text + absences(s);
}

}  // namespace nsa::reports
