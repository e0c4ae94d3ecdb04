// What really ran: counters per stage and path, fallbacks with reasons, lengths, reads, grow
// events. Host-side counting only: never a device synchronisation. Off = a null pointer in the
// runtime. Lengths are in tokens, sizes in bytes. Free functions may be called by several threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nsa/kernels/workspace.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/thresholds.hpp"
#include "nsa/schemas/types.hpp"

namespace nsa {

/// How often sequences of about one length were attended to.
struct LengthCount {
  Phase phase = Phase::prefill;
  std::int64_t tokens = 0;  // new ones, in decode those before: to an eighth of an octave, rounded
  std::int64_t calls = 0;   // of attention: each layer's count
  bool operator==(const LengthCount&) const = default;
};

/// Snapshot of the counters, as it goes into the database and the heartbeat.
struct TelemetryReport {
  std::map<std::pair<std::string, std::string>, std::int64_t>
      engaged;  // (stages, variant) -> calls
  std::map<std::pair<std::string, std::string>, std::int64_t> fallback;  // (stage, reason) -> calls
  std::map<std::pair<std::string, std::string>, std::int64_t>
      unmeasured;  // (stage, basis of the range that decided) -> calls; without measured ones
  std::vector<LengthCount> lengths;
  std::int64_t slow_path_calls = 0;
  std::int64_t grow_events = 0;
  ReserveNeed need;
  std::int64_t peak_workspace_bytes = 0;
  std::int64_t reads_pred = 0, reads_act = 0;  // tokens read by the last query row (docs/nsa.md 10)
  std::int64_t sel_rows = 0, sel_k_max = 0;    // rows, longest row in tokens
  double sel_k_mean = 0;                       // mean row length in tokens
  double sel_pct_at_max = 0;                   // share of rows that have all n l' tokens
  std::optional<double> overlap;  // of the selection, where it was computed on the host
  std::vector<std::pair<std::int64_t, std::int64_t>> row_length_histogram;  // (up to tokens, rows)
};

/// Counts that threads may share: every member may be called at any time by any thread. A call that
/// counts takes tens of nanoseconds and throws nothing but bad_alloc, the first time that it sees a
/// row or a reason.
class Telemetry {
 public:
  Telemetry();
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  /// One launch of the row `variant` of `stage`.
  void engaged(Stage stage, std::string_view variant);
  /// A row over several stages; `stages` outlives the object, as those of the table do.
  void engaged(std::span<const Stage> stages, std::string_view variant);
  /// One launch of `stage` that did not run as it was chosen: tensors that are not aligned to 16
  /// bytes, a wish that could not be met.
  void fallback(Stage stage, std::string_view reason);
  /// One launch of `stage` by a range of a thresholds file. Counted where it rests on no
  /// measurement: what was extrapolated, or is undecided.
  void decided(Stage stage, Basis basis);
  /// One call of attention: the length of each of its sequences.
  void sequences(const Problem& problem);
  /// One launch of a row whose role is slow_path.
  void slow_path();
  /// Peak, grow events and needs of the workspace of a call that has just been made. The workspace
  /// is read, so the call that uses it is over or is this thread's.
  void workspace(const Workspace& workspace);
  /// Tokens that the last query row reads, see reads_pred() and reads_act(). The last call counts.
  void reads(std::int64_t predicted, std::int64_t actual);
  /// Selection row lengths follow from position and geometry for full rows; computed, not read.
  /// `sum` and `max` in tokens; the rows go into the histogram by their mean length.
  void selection_rows(std::int64_t rows, std::int64_t sum, std::int64_t max, std::int64_t at_max);
  /// Share of a query's non-forced blocks that the query before it chose too, 0 to 1.
  void overlap(double share);
  /// What was counted since the last reset(): a copy.
  TelemetryReport report() const;

  /// selection_rows() of every query of `problem`, by arithmetic: kv_heads rows each.
  void selection_rows_of(const Problem& problem);
  /// Forgets all counts, as between warm-up and the steps that count.
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The report as a document of schemas/json/telemetry.schema.json: JSON in UTF-8, in one line.
std::string to_json_text(const TelemetryReport& report);

/// Tokens that the last query of a context of `tokens` tokens reads by the formula of the paper's
/// Table 4: num_cmp + n l' + min(w, tokens) (docs/nsa.md 10).
std::int64_t reads_pred(std::int64_t tokens, const Geometry& geometry) noexcept;
/// What it really reads: compressed tokens that it sees, tokens of its selected blocks (all visible
/// ones while there are fewer blocks than n, the last one partial), tokens of its window.
std::int64_t reads_act(std::int64_t tokens, const Geometry& geometry) noexcept;
/// reads_pred() for the last query of the longest sequence.
std::int64_t reads_pred(const Problem& problem) noexcept;
/// reads_act() for it.
std::int64_t reads_act(const Problem& problem) noexcept;
/// Tokens that the query at `position` (from 0) selects when it takes as many blocks as it may.
std::int64_t selected_tokens(std::int64_t position, const Geometry& geometry) noexcept;

/// Writes `Using slow _sdpa_over_ranges ...` (users grep for it) once per reason to stderr.
/// Returns true when it was written now.
bool warn_slow_path_once(std::string_view reason);

}  // namespace nsa
