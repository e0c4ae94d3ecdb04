// What was decided: the thresholds file of one device. Values are plain: threads may share one that
// none of them changes. Functions share nothing: threads may call them at the same time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/variant.hpp"

namespace nsa {

/// 3: ranges end where their evidence ends, and the flat view says always, never and not measured.
/// 2: decisions over several stages bind, and hashes of composites are made of all that they can
/// run.
inline constexpr int kThresholdsSchemaVersion = 3;
inline constexpr int kOldestThresholdsVersion = 1;

/// What a range rests on.
enum class Basis {
  measured,      // lengths inside of it, or within a factor of two
  extrapolated,  // the declared orders of the variants, beyond what was measured
  undecided,     // nothing that can be told from noise: what was there is left there
};
/// The enumerator's name.
std::string_view to_string(Basis value) noexcept;

/// A board whose own times choose another variant in a range than all boards together do.
struct DissentingBoard {
  std::string board;         // uuid of the device
  std::string variant;       // VariantId text: what it would run
  double ratio = 1;          // chosen / that variant in time on this board; above 1
  std::int64_t lengths = 0;  // measured lengths of the range at which it would
  bool operator==(const DissentingBoard&) const = default;
};

/// What differs between boards of one model in a range that two or more of them measured.
struct BoardSpread {
  std::int64_t boards = 0;  // that measured the chosen variant there
  /// Least and largest median ratio chosen / runner-up of a board; none where no board has both.
  std::optional<double> ratio_low, ratio_high;
  std::vector<DissentingBoard> dissenting;
  bool operator==(const BoardSpread&) const = default;
};

/// Why a range was decided so. Ratios are chosen / runner-up in time: below 1 = faster.
struct Evidence {
  std::optional<std::string> runner_up;  // VariantId text; none where there was one candidate
  std::optional<double> median_ratio;    // over the lengths of the range
  std::optional<double> ratio_low, ratio_high;  // 95 % bootstrap interval
  double expected_regret = 0;                   // of the choice, as a share of time (0.001 = 0.1 %)
  std::int64_t pairs = 0;
  std::optional<double> noise_floor;  // |log ratio| of the A/A control
  bool unverified = false;            // rests on unverified rows (tune --unverified)
  std::vector<std::string> run_ids;
  std::optional<double> p_better;  // share of bootstrap replicates it beats the runner-up
  std::optional<std::int64_t> from_low, from_high;  // 95 % interval of the range's `from`
  /// Shortest and longest measured length that the range rests on, and how many there are.
  std::optional<std::int64_t> measured_from, measured_to;
  std::int64_t lengths = 0;
  std::vector<std::string> ties;      // VariantId texts that nothing tells from the chosen one
  std::string why;                    // of an extrapolated or undecided range: in words
  std::optional<BoardSpread> boards;  // none where one board was measured
  bool operator==(const Evidence&) const = default;
};

/// Half-open range [from, to) on the decision's axis; to = nothing: no upper end.
struct ThresholdRange {
  std::int64_t from = 0;
  std::optional<std::int64_t> to;
  VariantId variant;
  std::string source_hash;  // of the variant when it was measured; another one now = stale
  Basis basis = Basis::measured;
  Evidence evidence;
  bool operator==(const ThresholdRange&) const = default;
};

/// Lengths that are multiples of `multiple` go by ranges of their own: kernels work in tiles, and
/// what wins where the last tile is full may lose where it is not.
struct Alignment {
  std::int64_t multiple = 128;
  std::vector<ThresholdRange> ranges;
  bool operator==(const Alignment&) const = default;
};

/// What the ranges lose at lengths that were measured to judge them and decided nothing.
struct HeldOut {
  std::int64_t lengths = 0;
  double mean_regret = 0, worst_regret = 0;  // as a share of time
  std::int64_t worst_at = 0;                 // axis value
  bool operator==(const HeldOut&) const = default;
};

struct Decision {
  std::vector<std::string> stages;
  Axis axis = Axis::seq_len;
  std::string unit = "tokens";
  LaunchMode launch = LaunchMode::eager;
  Timer timer = Timer::host;
  /// Ascending, without overlap. Between and beyond them nothing is decided: the built-in order.
  std::vector<ThresholdRange> ranges;
  std::optional<Alignment> alignment;
  std::optional<HeldOut> held_out;
  bool operator==(const Decision&) const = default;
};

/// Workspace sizes to allocate ahead, from the grow events that were seen; nothing = no need seen.
struct Reserves {
  std::optional<std::int64_t> varlen_reserve_n, varlen_reserve_k;      // rows, packed tokens
  std::optional<std::int64_t> sel_pack_reserve_n, sel_pack_reserve_l;  // rows, tokens per row
  bool operator==(const Reserves&) const = default;
};

/// What a reserve saves: first launches with it against those that grow their workspace.
struct ReserveGain {
  double saved_ns = 0;        // of a first launch, median over the problems
  double share = 0;           // the same as a share of a launch (0.5 = half a launch)
  std::int64_t problems = 0;  // measured with and without
  std::int64_t faster = 0;    // of these: first launches that are faster with it
  std::int64_t bytes = 0;     // that it takes
  Axis axis = Axis::seq_len;
  std::int64_t measured_from = 0, measured_to = 0;  // shortest and longest of these problems
  bool operator==(const ReserveGain&) const = default;
};

/// By the workspace; none = it is not reserved.
struct ReserveGains {
  std::optional<ReserveGain> varlen, sel_pack;
  bool operator==(const ReserveGains&) const = default;
};

/// What the flat view says of a length or of a switch: four things that a program must not mix up.
struct FlatValue {
  enum class Kind : std::uint8_t { not_measured, never, always, from };

  Kind kind = Kind::not_measured;  // nothing is known, leave what is there
  std::int64_t from_length = 0;    // of `from`

  /// At no length.
  static FlatValue never() { return {Kind::never, 0}; }
  /// At every length.
  static FlatValue always() { return {Kind::always, 0}; }
  /// From this length on, 1 or more.
  static FlatValue from(std::int64_t length) { return {Kind::from, length}; }

  /// The length of `from`; nothing for the others.
  std::optional<std::int64_t> length() const {
    return kind == Kind::from ? std::optional(from_length) : std::nullopt;
  }
  bool operator==(const FlatValue&) const = default;
};
/// "always", "never", "not_measured" or the length.
std::string to_string(const FlatValue& value);

/// The users' own names, decided among the paths that their program has. Minimum lengths in the
/// unit in which it compares: fa2_min_len_cmp in compressed tokens, the others in tokens. A switch
/// has no length. "never" means that another path is known to be better, never that none is.
struct FlatView {
  FlatValue sel_ranges_v2_min_s, fa2_min_len_win, fa2_min_len_cmp;
  FlatValue sel_varlen_min_l, sel_triton_min_l;
  std::optional<std::int64_t> varlen_reserve_n, varlen_reserve_k;
  std::optional<std::int64_t> sel_pack_reserve_n, sel_pack_reserve_l;
  FlatValue force_sel_mask, use_sel_pack, use_sel_varlen;
  FlatValue p_cmp_mixed, gate_compile, prefill_batched;
  bool lossy = false;  // ranges did not fit these values
  bool operator==(const FlatView&) const = default;
};

/// One measured problem of another program's choice: what its paths took there.
struct PathTimesAt {
  std::int64_t at = 0;                     // axis value
  std::map<std::string, std::int64_t> ns;  // median of the fastest row, by the program's own words
  bool operator==(const PathTimesAt&) const = default;
};

/// What was measured of the paths by which another program computes a stage: enough to decide among
/// them anew, for lengths up to any one.
struct ProjectStageTimes {
  std::string stage;
  Axis axis = Axis::seq_len;
  std::vector<ThresholdRange> ranges;    // decided among its paths; empty: no two of them met
  std::map<std::string, double> orders;  // how the work of each grows on the axis, where declared
  std::vector<PathTimesAt> measured;     // where two met; where none did, what there is
  bool operator==(const ProjectStageTimes&) const = default;
};

struct ProjectTimes {
  std::string project;  // as --for names it
  std::vector<ProjectStageTimes> stages;
  bool operator==(const ProjectTimes&) const = default;
};

/// From where the best NSA plan of stage `attention` beats the dense baseline up to the longest
/// length that was measured.
struct DenseBreakEven {
  std::optional<std::int64_t> from;  // axis value; 0 = always, nothing = never
  Axis axis = Axis::seq_len;
  std::string baseline;         // VariantId text
  std::int64_t largest = 0;     // longest length measured for both
  double ratio_at_largest = 1;  // NSA / dense in time: below 1 = NSA is faster
  bool operator==(const DenseBreakEven&) const = default;
};

struct ClassDecisions {
  ProblemClass problem_class;
  std::vector<Decision> decisions;
  Reserves reserves;
  ReserveGains reserve_gains;
  FlatView flat;
  std::optional<DenseBreakEven> dense_break_even;
  std::vector<ProjectTimes> projects;  // of other programs, for tune --emit --from
  bool operator==(const ClassDecisions&) const = default;
};

/// What must still hold for the file to be trusted as it is. Empty = unknown.
struct Validators {
  std::string device_name, compute_capability, multiprocessors, memory_bytes, mig, power_limit_w;
  std::string driver, runtime, compiler, measurement_policy;
  bool operator==(const Validators&) const = default;
};

/// Decisions of one executor on one device.
struct ThresholdTable {
  int schema_version = kThresholdsSchemaVersion;
  std::string executor = "nsatune";
  std::string created_by;  // "nsatune 0.1.0"
  bool complete = true;    // false: from a run that was cut short, or with undecided ranges
  std::vector<std::string> run_ids;
  Device device;
  Validators validators;
  std::vector<ClassDecisions> classes;
  bool operator==(const ThresholdTable&) const = default;
};

}  // namespace nsa
