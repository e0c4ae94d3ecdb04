// The results database: one SQLite file, many readers, one writer at a time that waits its turn.
// A Store belongs to one thread; several threads or processes open one each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/schemas/json.hpp"
#include "nsa/schemas/launch_counters.hpp"
#include "nsa/schemas/launch_subject.hpp"
#include "nsa/schemas/launch_trace.hpp"
#include "nsa/schemas/measurement.hpp"
#include "nsa/schemas/run.hpp"

namespace nsa::store {

/// How `sweep` finds its run.
struct RunRequest {
  std::string spec_hash, spec_json, build_id;
  Environment environment;
  std::vector<Device> devices;
  std::vector<Capability> libraries = {};  // what their probes say, kept with a new run
  double resume_within_s = 6 * 3600;
  bool always_new = false;               // --new
  std::optional<std::string> resume_id;  // --resume ID: that run or InputError
};

/// A run and the lock that says it is ours; the lock ends with the object or the process.
class OwnedRun {
 public:
  OwnedRun(Run run, bool resumed, int lock_fd) noexcept;
  ~OwnedRun();
  OwnedRun(OwnedRun&& other) noexcept;
  OwnedRun& operator=(OwnedRun&&) = delete;
  /// As it was when it was opened.
  const Run& run() const noexcept { return run_; }
  /// Whether it is gone on with; false: it is new.
  bool resumed() const noexcept { return resumed_; }

 private:
  Run run_;
  bool resumed_;
  int lock_fd_;
};

/// Telemetry of the runtime for one `run` command or one measurement.
struct TelemetryRow {
  std::string id, run_id;
  std::string recorded_at;
  std::string command;  // "run --preset 125m --seq-len 2048"
  Json report;          // schema "telemetry"
};

/// What one `nsatune run` measured. Its run has no measurements; when, where and with which build
/// and libraries it ran is said there.
struct RunResult {
  std::string id, run_id;
  std::string recorded_at;
  std::string command;  // that would repeat it
  Json report;          // schema "run_result"
  bool operator==(const RunResult&) const = default;
};

struct Query {
  std::optional<std::string> run_id = std::nullopt;
  std::optional<std::string> device_uuid = std::nullopt;
  std::optional<std::string> stage = std::nullopt;    // stages joined with '+'
  std::optional<std::string> variant = std::nullopt;  // name
  std::optional<std::string> executor = std::nullopt;
  std::optional<std::string> id = std::nullopt;  // one measurement, or a unique prefix of its id
  bool with_samples = false;
  bool by_time = true;  // in the order in which they were measured; false: of the file, sooner
};

/// A process of a run, of one series.
struct ProcessTimes {
  std::int64_t process = 0;
  double median_ns = 0;          // of the medians of its visits
  std::optional<double> cycles;  // likewise; nothing where a visit has no clock
  bool operator==(const ProcessTimes&) const = default;
};

/// What one run gave for a series: controls and held-out rows are not in it. Views last until the
/// next one, `kind` as long as the store.
struct SeriesOfRun {
  /// Problem, variant, executor, launch, timer and cold, and nothing else: the same object for all
  /// that have them in common.
  const Measurement& kind;
  std::string_view source_hash = {};              // of its last row
  bool tried = false;                             // false: unsupported or not built
  std::string_view failure = {}, failed_at = {};  // of the last row without a result, else empty
  std::span<const ProcessTimes> processes = {};   // in order; only those that gave a result
};

struct Info {
  std::string path;
  int schema_version = 0;
  std::string journal_mode;
  std::int64_t bytes = 0, runs = 0, open_runs = 0, measurements = 0, samples = 0, run_results = 0;
};

/// A run that was measured elsewhere, and its rows.
struct RunWithRows {
  Run run;
  std::vector<Measurement> rows;
  std::vector<Capability> libraries = {};
  std::string sums_up =
      {};  // id of the run whose rows these sum up: beside it they would count twice
};

/// What add_runs did: runs and rows that are new, and rows that were there.
struct Added {
  std::int64_t runs = 0, rows = 0, known = 0;
};

/// Runs, rows and samples that were dropped, or can be, and the bytes of the samples.
struct Pruned {
  std::int64_t runs = 0, rows = 0, samples = 0, bytes = 0;
};

/// How a file is opened; the defaults are right outside of tests.
struct OpenOptions {
  double busy_timeout_s = 60;  // how long to wait for another writer before EnvironmentError
  std::string vfs;             // SQLite's name of a file system layer; empty = the default
  /// Asked again and again while another process holds the database, with how long this wait has
  /// lasted; false gives up at once. Empty: waits in silence.
  std::function<bool(double waited_s)> keep_waiting = {};
};

/// Hash of everything in an environment: two runs with the same one may share a resume.
std::string environment_hash(const Environment& environment);

class Store {
 public:
  /// Opens or creates and migrates. EnvironmentError when the folder is read-only, the disk is full
  /// or the database stays locked; InputError when the file is no database of ours or from a newer
  /// version. Safe for many processes that open one new file at once.
  static Store open(const std::string& path, const OpenOptions& options = {});
  /// Opens what exists, for reading; InputError when there is nothing. Works on read-only media.
  static Store open_existing(const std::string& path, const OpenOptions& options = {});
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  /// What was worth saying about opening the file (another journal mode, say): one line each.
  const std::vector<std::string>& notes() const noexcept;

  /// The newest open run with the same spec, build and environment that is young enough and that
  /// no living owner holds, else a new one. InputError when `resume_id` cannot be gone on with.
  OwnedRun open_run(const RunRequest& request);
  /// Ends an open run as complete or incomplete, and keeps the series of this and all other runs
  /// that have ended.
  void end_run(const std::string& run_id, RunState state);
  /// Keys of the measurements that a run has (any outcome): what a resume leaves out. Narrowed to
  /// one device or one executor where a run has several.
  std::set<std::string> finished_jobs(
      const std::string& run_id, const std::optional<std::string>& device_uuid = std::nullopt,
      const std::optional<std::string>& executor = std::nullopt) const;
  /// One transaction; when it returns, the row survives kill -9 (connection.cpp says what else).
  /// The same (run, executor, placement, job_key, control) again is ignored and returns false.
  bool add(const Measurement& measurement);
  /// Complete runs from elsewhere, all in one transaction. Rows whose id is in the database, or
  /// that are the same job of the same run, are left as they are; a run without a new row is not
  /// added.
  Added add_runs(const std::vector<RunWithRows>& runs);
  /// The same id again is ignored.
  void add(const TelemetryRow& row);
  /// The same (run, executor, placement, problem, variant, launch) again is ignored and returns
  /// false.
  bool add(const LaunchTraceRow& row);
  bool add(const LaunchCountersRow& row);
  bool add(const AgreementRow& row);
  /// A run of the command `run`, which has ended, and its result, in one transaction; the counters
  /// of the runtime in its report become a telemetry row. The same id again is ignored.
  void add(const Run& run, const std::vector<Capability>& libraries, const RunResult& result);

  /// Names runs by a label, all of them or none; a run that has it keeps it.
  void add_label(const std::vector<std::string>& run_ids, const std::string& label);
  /// Takes the label from runs; one that does not have it stays as it is. How many had it.
  std::size_t remove_label(const std::vector<std::string>& run_ids, const std::string& label);
  /// Labels by the id of their run.
  std::map<std::string, std::set<std::string>> labels() const;

  /// All runs, newest first.
  std::vector<Run> runs() const;
  /// Nothing when no run begins so; InputError when several do.
  std::optional<Run> find_run(const std::string& id_or_prefix) const;
  /// Newest run that has a measurement on that device, of that executor where one is named.
  std::optional<Run> newest_run(const std::string& device_uuid,
                                const std::optional<std::string>& executor = std::nullopt) const;
  /// Who measured what a query finds, sorted. `id` and `with_samples` of it mean nothing here.
  std::vector<std::string> executors(const Query& query) const;
  /// In the order that the query asks for. InputError when an id prefix is ambiguous.
  std::vector<Measurement> measurements(const Query& query) const;
  /// Calls `visit` with each of measurements(query), in the same order, one row in memory at a
  /// time. The row lasts until `visit` returns, and `visit` must not use the store.
  void for_each_measurement(const Query& query,
                            const std::function<void(const Measurement&)>& visit) const;
  /// Calls `visit` with each series of a run on a device, a placement after the other: from what
  /// was kept when the run ended, else from its rows. `visit` must not use the store.
  void for_each_series(const std::string& run_id, const std::string& device_uuid,
                       const std::function<void(const SeriesOfRun&)>& visit) const;
  /// Of one run where it is named; oldest first.
  std::vector<TelemetryRow> telemetry(const std::optional<std::string>& run_id) const;
  /// Oldest first. `id` and `with_samples` of the query mean nothing here.
  std::vector<LaunchTraceRow> launch_traces(const Query& query) const;
  /// What the hardware counted; otherwise as launch_traces().
  std::vector<LaunchCountersRow> launch_counters(const Query& query) const;
  /// How far selections of reduced precision are the exact ones; otherwise as launch_traces().
  std::vector<AgreementRow> agreements(const Query& query) const;
  /// What their probes said when the run began; empty for an imported run.
  std::vector<Capability> libraries(const std::string& run_id) const;
  /// Of the command `run`, newest first; of one run where it is named.
  std::vector<RunResult> run_results(const std::optional<std::string>& run_id = std::nullopt) const;

  /// What is in the file, and how large it is with its side files, in bytes.
  Info info() const;
  /// Problems found (integrity_check, foreign keys, blobs that do not unpack); empty = good.
  std::vector<std::string> verify() const;
  /// Gives unused pages back to the file system (VACUUM).
  void compact();
  /// What prune() would drop.
  Pruned prunable(const std::string& before) const;
  /// Drops the samples of runs that began before a time (ISO 8601, UTC) and have ended, keeps all
  /// else of their rows, and compacts the file. After a kill the same call goes on.
  /// EnvironmentError while a sweep measures into the file; none begins until it returns.
  Pruned prune(const std::string& before);

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace nsa::store
