#include "spools.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "nsa/reports/trace_table.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/schemas/trace_spool.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/read.hpp"
#include "nsa/trace/write.hpp"

namespace nsa::cli {
namespace {

namespace fs = std::filesystem;

/// "rank3.json.gz" where the rank is known and no other process has it, else named as its spool.
std::string name_of(const trace::Trace& trace, const std::string& spool, const fs::path& folder) {
  const std::string stem = spool.substr(0, spool.size() - std::string(spool::kFileSuffix).size());
  if (!trace.source.rank) return stem + ".json.gz";
  const std::string name = fmt::format("rank{}.json.gz", *trace.source.rank);
  return fs::exists(folder / name) ? fmt::format("rank{}.{}.json.gz", *trace.source.rank, stem)
                                   : name;
}

/// A spool as a file: who it is for, and whether a process has it open to write.
class OpenSpool {
 public:
  explicit OpenSpool(const fs::path& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    spool::SpoolHeader header;
    const spool::SpoolHeader ours;
    if (read(file_, &header, sizeof header) == sizeof header &&
        header.byte_order == ours.byte_order && header.header_bytes == ours.header_bytes)
      recorder_ = header.recorder;  // whether it is a spool is for its reader to say
    written_ = flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  }
  ~OpenSpool() {
    if (file_ >= 0) close(file_);
  }
  OpenSpool(const OpenSpool&) = delete;
  OpenSpool& operator=(const OpenSpool&) = delete;

  std::uint64_t recorder() const { return recorder_; }
  bool written() const { return written_; }

 private:
  int file_;
  std::uint64_t recorder_ = 0;
  bool written_ = false;
};

/// What `trace summary` says, beside the trace: rank0.summary.txt of rank0.json.gz.
void write_summary(const trace::Trace& trace, const std::string& path) {
  constexpr std::string_view kEnd = ".json.gz";
  trace::Summary summary = trace::summarize(trace);
  summary.path = path;
  constexpr std::size_t kTop = 20;
  write_text_file(path.substr(0, path.size() - kEnd.size()) + ".summary.txt",
                  reports::trace_summary_table(summary, kTop, {.color = false}));
}

RecordedProcess convert_one(const fs::path& folder, const std::string& name, bool keep,
                            std::vector<trace::Trace>& all) {
  RecordedProcess out;
  const fs::path spool = folder / name;
  out.row.pid = name;
  try {
    trace::Trace trace = trace::read_trace(spool.string());
    const trace::ProcessInfo& process = trace.processes.front();
    const trace::Totals totals = process.totals.value_or(trace::Totals{});
    out.row = {process.pid, process.rank, totals, {}, process.notes};
    if (totals.launches)
      out.row.all_there =
          *totals.launches == totals.recorded + totals.dropped + totals.lost + totals.outside;
    out.gpu_operations = trace.ops.size();
    out.gpu_ranges = trace.gpu_ranges.size();
    out.path = (folder / name_of(trace, name, folder)).string();
    trace::write_chrome_trace(trace, out.path);
    write_summary(trace, out.path);
    all.push_back(std::move(trace));
    std::error_code ignored;
    if (!keep) fs::remove(spool, ignored);
  } catch (const InputError& e) {
    out.failure = e.what();
  }
  return out;
}

void merge(const fs::path& folder, std::vector<trace::Trace> traces, Recorded& out) {
  std::erase_if(traces, [](const trace::Trace& t) {
    return t.ops.empty() && t.calls.empty() && t.gpu_ranges.empty();
  });
  if (traces.size() < 2) return;
  try {
    const std::string path = (folder / "merged.json.gz").string();
    const trace::Trace merged = trace::merge_traces(std::move(traces));
    trace::write_chrome_trace(merged, path);
    write_summary(merged, path);
    out.merged = path;
    out.clocks = merged.source.clocks;
  } catch (const InputError& e) {
    out.merge_failure = e.what();
  }
}

}  // namespace

std::set<std::string> spools_in(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(spool::kFileSuffix)) names.insert(std::move(name));
  }
  return names;
}

Recorded convert_spools(const std::string& folder, const std::set<std::string>& before,
                        std::uint64_t recorder, bool keep) {
  Recorded out;
  std::vector<trace::Trace> traces;
  for (const std::string& name : spools_in(folder)) {
    if (before.count(name) != 0) continue;
    const OpenSpool spool(fs::path(folder) / name);
    if (spool.recorder() != 0 && spool.recorder() != recorder) continue;
    out.processes.push_back(convert_one(folder, name, keep || spool.written(), traces));
    if (spool.written())
      out.processes.back().row.notes.push_back(
          {"information", "a process that outlives the program still writes " + name +
                              ": the trace ends here, and the spool stays"});
  }
  merge(folder, std::move(traces), out);
  return out;
}

std::string line_of(const RecordedProcess& process) {
  const trace::RecordingRow& row = process.row;
  if (!process.failure.empty()) return "not read: " + process.failure;
  const trace::Totals& t = row.totals;
  std::string line = row.rank ? fmt::format("rank {}, process {}: ", *row.rank, row.pid)
                              : fmt::format("process {}: ", row.pid);
  line += fmt::format("{} recorded, {} dropped", counted(t.recorded, "GPU operation"), t.dropped);
  if (process.gpu_ranges != 0)
    line += fmt::format(", {} ranges timed by events", process.gpu_ranges);
  if (t.outside != 0) line += fmt::format(", {} outside of the window", t.outside);
  if (t.lost != 0) line += fmt::format(", {} lost", t.lost);
  if (row.all_there && !*row.all_there) line += fmt::format(", BUT {} were launched", *t.launches);
  if (!t.complete)
    line += "; it ended without its exit handler, so up to 200 ms of its end are missing";
  return line + " -> " + process.path;
}

}  // namespace nsa::cli
