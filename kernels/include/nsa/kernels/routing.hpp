// Which variant runs: a pure function over the thresholds table, the environment and the caller's
// wishes. Ask (Problem), decide (Choice), run (launch) are three types.
//
// What all calls share: lengths are in tokens, sizes in bytes, ratios are of times (below 1 =
// faster). Nothing here touches a device, and no tensor is needed: a problem says shapes and dtype,
// and whether tensors are aligned as a row's fast path needs it is seen by the launch
// (runtime.hpp). Free functions may be called by several threads at once. A Router may be shared by
// threads: all that it offers is const. What is returned by value belongs to the caller; what is
// said to be borrowed lives as long as the Router that it comes from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "nsa/kernels/catalog.hpp"
#include "nsa/schemas/env_names.hpp"
#include "nsa/schemas/thresholds.hpp"

namespace nsa {

/// Who decided, strongest first.
enum class Source : std::uint8_t { api, environment, thresholds, shipped, built_in };
/// The enumerator's name, as in JSON: "api", "built_in".
std::string_view to_string(Source value) noexcept;
/// How well the table fits what was asked: device and class each climb this ladder.
enum class Fit : std::uint8_t { exact, nearest_bin, nearest_shape, built_in };
enum class DeviceFit : std::uint8_t { exact, same_architecture, nearest, built_in };
/// The enumerator's name, as in JSON.
std::string_view to_string(Fit value) noexcept;
/// The enumerator's name, as in JSON.
std::string_view to_string(DeviceFit value) noexcept;

/// One decision at run time. Plain pointers into tables that the Router owns: no allocation.
struct Choice {
  const Variant* variant = nullptr;
  const Point* point = nullptr;           // never null; empty where there are no coordinates
  const ThresholdRange* range = nullptr;  // the evidence; null unless from a table
  Source source = Source::built_in;
  Fit fit = Fit::built_in;
  bool stale = false;  // source hash or a validator differs from when it was measured
  DeviceFit device_fit = DeviceFit::built_in;  // of the table that decided
  /// Why a stronger wish was not met ("varlen_v2: does not support this problem"), else null.
  /// Lives as long as the Router.
  const char* fallback_reason = nullptr;
};

/// How neighbouring stages are cut into rows: one row over all of them, or a row for each.
struct Segmentation {
  static constexpr std::size_t kMost = 4;
  /// In the order of the stages; together they cover each of these once.
  std::span<const Choice> choices() const& noexcept {
    return {std::launder(reinterpret_cast<const Choice*>(bytes.data())), count};
  }
  std::span<const Choice> choices() const&& = delete;  // they end with the segmentation
  /// Another choice at the end, empty. kMost at most: not checked.
  Choice& add() noexcept { return *new (&bytes[sizeof(Choice) * count++]) Choice; }
  /// Forgets all choices.
  void clear() noexcept { count = 0; }

  /// Choices are made one by one in these bytes: most segmentations are one row, and empty choices
  /// would cost as much as its decision.
  alignas(Choice) std::array<std::byte, kMost * sizeof(Choice)> bytes;
  std::size_t count = 0;
};
static_assert(std::is_trivially_copyable_v<Choice> && std::is_trivially_destructible_v<Choice>);

/// Whether a row may compute several stages at once.
enum class Form : std::uint8_t {
  any,
  stage_by_stage,  // not where one of them is left out, or what lies between them is to be saved
};

/// What the caller asks for by API, per stage ("attend_selected" -> "masked"), or for several at
/// once by the first of them and a row over all. A name that no row has is an InputError, as is a
/// row with another answer (dense attention); one that cannot run here falls to the next source.
struct ApiOverrides {
  std::vector<std::pair<Stage, VariantId>> variants;    // of the forward pass
  std::vector<std::pair<Stage, VariantId>> backward{};  // likewise
};

/// An immutable snapshot of everything that decides, made once per runtime object.
/// choose() and segmentation() take no lock, allocate nothing and need tens of nanoseconds.
class Router {
 public:
  struct Inputs {
    Device device;
    std::optional<ThresholdTable> table;    // from a file or bundle
    std::optional<ThresholdTable> shipped;  // kernels/tuned
    EnvSnapshot environment;                // the NSA_* variables
    ApiOverrides api;
    std::string table_path;                     // for explain()
    std::string shipped_path;                   // likewise
    std::span<const Variant> rows = catalog();  // the table of variants; borrowed
    /// What would run on `device`, asked on a machine that need not have one: rows that this build
    /// or a missing library lacks count as there. Such a router is to be asked, not to be run by.
    bool review = false;
  };
  /// Checks wishes and tables once, so that choose() need not. Throws InputError for a name in
  /// `api` that no row of the stage has, or that has another answer. Names in the environment and
  /// tables that do not fit are not errors: see warnings(). `inputs.rows` outlives the Router.
  explicit Router(Inputs inputs);
  /// The built-in order of that device, without a table, environment or wishes.
  explicit Router(Device device);
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  /// The row that runs `stage` of `problem`, of the rows of the problem's direction. Throws
  /// nothing: where no row runs it, Choice::variant is null. `problem` is valid (require_valid()):
  /// that is not checked here. Pointers in the choice are borrowed.
  Choice choose(Stage stage, const Problem& problem) const noexcept;
  /// Of a stage that is a part of a composite: `within` is what was chosen for the composite, or
  /// null. A row that its plan names runs, unless the stage itself was asked for by a stronger
  /// source, or decided by a table's class that fits the problem better.
  Choice choose(Stage stage, const Problem& problem, const Choice* within,
                Form form = Form::any) const noexcept;
  /// Of neighbouring stages, kMost at most: the row over all of them, or the sequence of rows, that
  /// the API, a table or the built-in order has for them together; each by itself where nothing
  /// does, or where the API or the environment asks for a row of one of them. A stage that nothing
  /// runs has a choice without a variant.
  Segmentation segmentation(std::span<const Stage> stages, const Problem& problem,
                            const Choice* within = nullptr) const noexcept;
  /// How well the table that decides fits the device: of `table`, else of `shipped`.
  DeviceFit device_fit() const noexcept;
  /// What the Router was made from, borrowed.
  const Inputs& inputs() const noexcept;
  /// The NSA_* variables of these; borrowed.
  const EnvSnapshot& environment() const noexcept;
  /// Workspace sizes to allocate ahead for this problem, in rows and tokens (Reserves), by
  /// precedence: the environment, the table, what ships. Nothing where nobody says one.
  Reserves reserves(const Problem& problem) const noexcept;
  /// What was odd about the environment or the table: one line each, for stderr, once.
  const std::vector<std::string>& warnings() const noexcept;

 private:
  friend struct RouterInside;  // kernels/routing
  struct State;
  std::unique_ptr<State> state_;
};

/// `base` with what NSA_ROPE_SCALE, NSA_FORCE_BRANCH and NSA_FORCE_UNIFORM_GATE set. Values that
/// cannot be read were turned down, with a warning, when the snapshot was made: throws nothing.
AttentionOptions options_from(const EnvSnapshot& environment, AttentionOptions base = {});

/// Whether a validator still holds: unknown where either side is not known.
enum class Holds : std::uint8_t { yes, no, unknown };
/// The enumerator's name, as in JSON.
std::string_view to_string(Holds value) noexcept;
struct ValidatorCheck {
  std::string_view name;       // a literal: "driver"
  std::string recorded, here;  // empty: not known
  Holds holds = Holds::unknown;
};
/// The validators of this device and build. `measurement_policy` is the tuner's to fill in.
Validators validators_of(const Device& device);
/// One check for each validator, in the order of the struct.
std::vector<ValidatorCheck> check_validators(const Validators& recorded, const Validators& here);
/// How well decisions of one device serve another.
DeviceFit fit_of(const Device& decided_on, const Device& here) noexcept;

/// One line of explain(): what runs, why, what overrode what and what that costs. A row over
/// several stages has one line, and its stages no others.
struct Explanation {
  std::vector<Stage> stages{Stage::attend_selected};
  Axis axis = Axis::seq_len;
  std::int64_t axis_value = 0;
  std::string variant;
  Source source = Source::built_in;
  Fit fit = Fit::built_in;
  DeviceFit device_fit = DeviceFit::built_in;
  bool stale = false;
  std::optional<Basis> basis;                  // of the range that decided
  bool slow_path = false;                      // a slow path that somebody asked for
  std::optional<std::string> fallback_reason;  // why a stronger wish was not met
  std::string why;  // "NSA_FORCE_SEL_MASK=1", "range [512, 4096) of t.json"
  std::optional<Evidence> evidence;
  std::optional<std::string> overridden;        // variant that a stronger source replaced
  Source overridden_source = Source::built_in;  // what had chosen that one
  std::optional<double> override_cost;  // its time / the replaced one's time, where measured
};
/// What each accepted NSA_* name does here.
struct NameEffect {
  std::string name, value;
  bool effective = false;
  std::string reason;  // "changes attend_selected", "no effect: trainer-only"
};
struct ExplainReport {
  Device device;
  DeviceFit device_fit = DeviceFit::built_in;
  Problem problem;
  std::string table_path;
  std::vector<Explanation> decisions;
  Reserves reserves;
  AttentionOptions options;
  std::vector<ValidatorCheck> validators;  // of the table in use; empty without one
  std::vector<NameEffect> names;           // those that are set
  std::vector<std::string> warnings;
};
/// What runs for each stage of `problem` and why, with the evidence, as a report for people: it
/// allocates, and may take milliseconds. `problem` is valid, as for choose().
ExplainReport explain(const Router& router, const Problem& problem);
/// The report as a document of schemas/json/explain.schema.json: JSON in UTF-8, in one line.
std::string to_json_text(const ExplainReport& report);

/// Where the thresholds of a process come from: `flag` (--thresholds), else NSATUNE_THRESHOLDS,
/// else $XDG_DATA_HOME/nsatune/thresholds, else nothing. A folder is a bundle: the file of this
/// device is picked by its device block without parsing the others fully.
struct LoadedTable {
  ThresholdTable table;
  std::string path;
};
/// A bundle without a file of this device gives the nearest one of the same back end.
/// Throws InputError on a file that is missing, corrupt or of another version.
std::optional<LoadedTable> find_thresholds(const std::optional<std::string>& flag,
                                           const Device& device);
/// Name of a device's file in a bundle: "nvidia_h200.json".
std::string device_file_name(const Device& device);
/// The table shipped with the runtime for that device, or nothing. The folder is NSATUNE_SHIPPED,
/// else ../share/nsatune/tuned beside the program, else that of the source tree. Throws InputError
/// on a file that is corrupt or of another version.
std::optional<LoadedTable> shipped_thresholds(const Device& device);

}  // namespace nsa
