// What the doctor looks at, gathered by others: plain aggregates without a file handle or a clock.
// Text of others in them went through clean().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/schemas/env_names.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/summary.hpp"
#include "nsa/trace/waits.hpp"

namespace nsa::doctor {

enum class Kind : std::uint8_t { environment, config, log, heartbeat, trace, command };
/// The enumerator's name.
std::string_view to_string(Kind kind);

/// Text of others on one line: control characters (C0, DEL, C1) become '?', and what is longer than
/// `bytes` is cut.
std::string clean(std::string_view text, std::size_t bytes = 200);

/// The value of a variable or key, and its line; 0 = it stands in no file.
struct Setting {
  std::string value;
  std::int64_t line = 0;
  bool known = true;  // false: a shell puts something in when it runs, as in "$NAME"
};
using Settings = std::map<std::string, Setting, std::less<>>;

/// Variables of this process, of a file, or of a log that begins a line with them.
struct EnvironmentEvidence {
  std::string source;   // "environment" or the file
  Settings variables;   // all names, not only ours
  bool launch = false;  // of an NSA program: what is not set counts too
  /// Of a file of `tune --emit env`: what runs by its decision, by stage, as "varlen v2 from 600
  /// on".
  std::map<std::string, std::string, std::less<>> decided = {};

  /// The variable, or nullptr where it is not set.
  const Setting* find(std::string_view name) const;
  /// 1/true/yes/on and 0/false/no/off; nothing where it is not set or no boolean.
  std::optional<bool> boolean(std::string_view name) const;
  /// A whole number; nothing where it is not set or no such number.
  std::optional<std::int64_t> integer(std::string_view name) const;
  /// Whether measurements behind the file decided for this path of a stage: "varlen_v2".
  bool decided_for(std::string_view stage, std::string_view path) const;
};

/// A YAML file as "section.key" -> value.
struct ConfigEvidence {
  std::string file;
  Settings keys;

  /// Whether it has a key that rules read: one of the list in evidence.cpp. ContractError for a
  /// find() of a key that is not on the list, so that the list is whole.
  bool any_known() const;
  /// Whether it has a section `nsa`: it is of an NSA program.
  bool of_nsa() const;
  /// The key, or nullptr where the file does not have it.
  const Setting* find(std::string_view key) const;
  /// As EnvironmentEvidence::boolean().
  std::optional<bool> boolean(std::string_view key) const;
  /// A whole number; nothing where it is not there or no such number.
  std::optional<std::int64_t> integer(std::string_view key) const;
};

/// What a line of a log can tell; log_signals.cpp holds the words.
enum class Signal : std::uint8_t {
  slow_path,
  sel_path,
  fa2_unused,
  sdpa_fallback,
  out_of_memory,
  unallocated,  // "reserved by PyTorch but unallocated"
  heads_copied,
  malformed_batch,
  waits,  // the shape of an input: the forward pass begins
  watchdog,
  checkpointing,
  debug_output,
  anomaly_mode,
  model_125m,  // it is of the 125M model of the users' reports
  crash,       // a traceback, a CUDA error, a signal
  exception    // the line that names it
};

/// Lines of a file that say the same.
struct Hits {
  std::int64_t count = 0, first_line = 0, last_line = 0;
  std::string text;  // of the first
};

struct LogEvidence {
  std::string file;
  bool live = false;  // of a command that may still be running: its end means nothing
  std::int64_t lines = 0;
  std::int64_t last_line = 0;  // that is not blank
  std::map<Signal, Hits> signals;
  std::vector<double> tok_per_s;    // as logged, in order
  std::int64_t tok_line = 0;        // of the last of them
  std::vector<double> gpu_percent;  // of lines as nvidia-smi prints them
  std::int64_t gpu_line = 0;
  std::optional<double> unallocated_bytes, allocated_bytes;  // of an out-of-memory message
  bool sets_variables = false;

  /// Whether anything in it is known to any rule.
  bool any_known() const {
    return !signals.empty() || !tok_per_s.empty() || !gpu_percent.empty() || sets_variables;
  }
};

struct At {
  double value = 0;
  std::int64_t line = 0;
};
/// A counter with its name, at the last line that has it.
struct Counter {
  std::string name;  // "fb_sliding_fa2_fails", "attend_selected/ranges"
  std::int64_t count = 0, line = 0;
};

/// A heartbeat_rank<N>.jsonl.
struct HeartbeatEvidence {
  std::string file;
  std::int64_t rank = 0, lines = 0, progress = 0, last_line = 0;
  std::vector<double> tok_per_s;
  std::int64_t tok_line = 0;
  std::optional<At> gate_statistics;              // first record that carries them
  std::optional<At> allocated_mib, reserved_mib;  // of the record with the most reserved
  std::optional<At> fetch_share;        // median time for a batch of data / median time of a step
  std::optional<At> fetch_p95_ms;       // the largest
  std::optional<At> longest_silence_s;  // between two records
  std::optional<At> slow_path_calls, grow_events;  // growth: after the first record that has it
  std::optional<At> dump;                          // watchdog_dump
  std::vector<Counter> fallbacks;                  // fb_*: the last value of each, those above 0
  std::vector<Counter> engaged;                    // "stage/variant"
};

/// Events of a trace that belong together, with the correlation ids of the first.
struct Group {
  /// To the total, which stops at its largest value: a damaged file may hold any times.
  void add(std::int64_t ns) {
    if (__builtin_add_overflow(total_ns, ns, &total_ns)) total_ns = INT64_MAX;
  }

  std::string name;  // of the call or operation
  std::string by;    // operator or range of the host around it, "" = none known
  std::int64_t count = 0, total_ns = 0;
  std::vector<std::uint64_t> ids;
  trace::WaitKind wait = trace::WaitKind::none;  // of calls
  std::string caller = {};  // of calls: function of the program with most of it, "" = none known
  std::size_t callers = 0;  // that are known
};
struct Gap {
  std::int64_t start_ns = 0, duration_ns = 0;
  std::uint64_t id = 0;  // of the operation that ends it; 0 = not recorded
};

struct TraceEvidence {
  trace::Summary summary;
  trace::JobMember job;
  std::vector<Group> waits;        // calls in which the host waits, longest total first
  std::vector<Group> copies;       // between host and device
  std::vector<Group> allocations;  // cudaMalloc, cudaFree and the like
  std::vector<Group> suspects;     // kernels and host operators that a rule knows by name
  std::vector<Gap> gaps;           // the longest ones
  std::int64_t short_kernels = 0;  // below kShortKernelNs
  /// Launch calls of kernels of kTellingKernelNs and more, and those of them that returned after
  /// their kernel's end and lasted no longer than twice as long as it.
  std::int64_t telling_launches = 0, blocking_launches = 0;
  std::string left_out;  // steps that warmed up, or what lies outside of steps; empty: nothing
};
inline constexpr std::int64_t kShortKernelNs = 10'000;  // what it costs to launch one
/// Longer than a launch call takes that waits for nothing: 4 to 12 us, 25 at times. On an idle GPU
/// such a call outlasts a shorter kernel, too.
inline constexpr std::int64_t kTellingKernelNs = 30'000;

/// One reading of a running command. What cannot be read is absent.
struct LoadSample {
  double at_s = 0;                         // since its start
  std::optional<double> gpu_percent;       // of the GPU that it uses
  std::optional<double> gpu_memory_bytes;  // in use there, more than before the start
  std::optional<double> cpu_percent;       // of one core, all its processes
  std::optional<double> rss_bytes;         // of all its processes
  std::int64_t log_lines = 0;              // so far
};
/// Fewer readings than these say nothing of a load: half of them are of loading and warming up.
inline constexpr std::size_t kFewestReadings = 10;

struct CommandEvidence {
  std::string source;  // the command line, or the file that recorded it
  double seconds = 0;
  std::vector<LoadSample> samples;
  std::optional<double> gpu_total_bytes;
  std::string gpu_reason;        // why there is no reading of a GPU; "" = there is
  double last_line_at_s = 0;     // of its output
  std::optional<int> exit_code;  // absent: it was ended
};

/// A row of the results database, verified.
struct Measured {
  std::string id;
  std::string stages, variant;  // joined with '+'; the name without its point
  std::string executor, device;
  Problem problem;
  double median_ns = 0;
  SwitchTarget path = SwitchTarget::none;  // what the users' switches call the variant
  std::string device_name{};               // "NVIDIA H200"; empty: not stored
};

/// What could not be judged, and why.
struct NotJudged {
  std::string source, reason;
  bool whole = false;  // nothing of the source could be judged
};

struct RunEvidence {
  std::vector<EnvironmentEvidence> environments;
  std::vector<ConfigEvidence> configs;
  std::vector<LogEvidence> logs;
  std::vector<HeartbeatEvidence> heartbeats;
  std::vector<TraceEvidence> traces;
  bool one_job = true;  // false: the traces say themselves that they are not of one (not_judged)
  std::vector<CommandEvidence> commands;
  std::vector<Measured> measured;
  std::vector<NotJudged> not_judged;

  /// Whether there is any evidence of that kind.
  bool has(Kind kind) const;
};

}  // namespace nsa::doctor
