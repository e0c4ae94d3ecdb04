// Text and traces to evidence. Input is hostile: InputError with file and line, or text that is cut
// and cleaned, never a crash.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "nsa/doctor/evidence.hpp"
#include "nsa/trace/model.hpp"

namespace nsa::doctor {

/// Takes a log line by line, so that logs of any size and running commands go the same way. One
/// thread at a time.
class LogReader {
 public:
  /// `live`: the output of a command, whose last line need not be the last of the run.
  explicit LogReader(std::string file, bool live = false) {
    log_.file = std::move(file);
    log_.live = live;
  }
  /// A line without its newline; carriage returns part it, and what is longer than 4 KiB is cut.
  void take(std::string_view line);
  /// What its lines told so far.
  const LogEvidence& log() const noexcept { return log_; }
  /// Variables that a line of the log sets: "NSA_USE_FA2=1 python train.py".
  const Settings& variables() const noexcept { return variables_; }

 private:
  void take_part(std::string_view line);
  void take_numbers(const std::string& lowered);

  LogEvidence log_;
  bool in_traceback_ = false;  // the exception that ends it is still to come
  Settings variables_;
};

/// Adds "NAME=value" assignments at the front of a line ("export A=1", "+ A=1 B=2 python ...").
/// False where there is none.
bool read_assignments(std::string_view line, std::int64_t line_number, Settings& into);
/// A file of variables: a shell script, `env`'s output, or /proc/PID/environ (NUL between them).
EnvironmentEvidence parse_environment_file(std::string_view text, const std::string& file);

/// Takes heartbeat JSONL line by line, so that files of any size are read. NaN and Infinity, which
/// Python writes where training diverged, are fields without a value. One thread at a time.
class HeartbeatReader {
 public:
  explicit HeartbeatReader(const std::string& file);
  ~HeartbeatReader();
  /// A line without its newline. `unfinished`: it has none; where it does not parse, it is being
  /// written and is left out.
  void take(std::string_view line, bool unfinished = false);
  /// What all lines told. Last: the reader holds nothing more.
  HeartbeatEvidence finish();

 private:
  class Records;
  std::unique_ptr<Records> records_;
  std::int64_t lines_ = 0;
};
/// All of a text.
HeartbeatEvidence parse_heartbeat(std::string_view text, const std::string& file);

/// A recording of `doctor --record`.
CommandEvidence parse_command_record(std::string_view text, const std::string& file);
/// What parse_command_record() reads: a line of JSON for the command and one for each reading.
std::string command_record(const CommandEvidence& command);

/// Steps at the start of a trace that took far longer than the others are warm-up (compilation,
/// modules, allocations); they go out of the trace, and `left_out` says which.
TraceEvidence examine_trace(trace::Trace& trace);

/// Whether every trace says which rank it is of.
bool may_be_ranks(const std::vector<TraceEvidence>& traces);
/// Traces that cannot be of one job are said so, with the reason, and each is judged alone. Of
/// ranks it is known only together who waited for whom: each one's communication gets its waits,
/// and the ranks that came last. Nothing where their clocks cannot be compared. `examined`: the
/// traces of the evidence as examine_trace() left them, where all say their ranks; else empty.
void compare_ranks(std::vector<trace::Trace> examined, RunEvidence& evidence);

/// What a file is, by its first bytes and its name.
enum class FileKind : std::uint8_t { config, log, heartbeat, trace, sqlite, environment, command };
/// InputError where it is none of these: binary, empty.
FileKind recognise(std::string_view head, const std::string& path);

}  // namespace nsa::doctor
