// Programs that run NSA and are not this one: a row each says what they have and how it is set.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/schemas/env_names.hpp"
#include "nsa/schemas/thresholds.hpp"

namespace nsa::tuner {

/// Bits of Phase.
inline constexpr unsigned kInPrefill = 3, kInDecode = 4, kInAllPhases = 7;

/// One way in which a project computes a stage. Within a stage `path` tells ways apart; `none` is
/// the one that no switch names.
struct ProjectPath {
  SwitchTarget path = SwitchTarget::none;
  std::string_view name = {};    // in the project's own words
  std::string_view row = {};     // a row of ours that stands in, besides those that go by `path`
  std::string_view logged = {};  // what the project's own benchmarks call it, if not by its name
  unsigned phases = kInAllPhases;
  bool settable = true;    // false: only what is left when all is off, never chosen
  bool even_slow = false;  // ours may be a slow path here, and is a way like others there
  /// Why the project cannot take it for such problems, or "". Never null.
  std::string_view (*refuses)(const ProblemClass&, const Device&) =
      [](const ProblemClass&, const Device&) -> std::string_view { return {}; };
  std::string_view caution = {};  // what to know before it is switched on
};

/// A variable of a setting. "{min}" as value: the minimum.
struct ProjectVariable {
  std::string_view name = {}, value = {};
};

/// What a minimum of the project compares, for the longest sequence.
enum class Compared : std::uint8_t {
  nothing,            // there is no minimum
  seq_len,            // new tokens
  window_row,         // keys in a window row: min(S, w)
  compressed_tokens,  // num_cmp(S)
  selected_row,       // tokens in a row of selected blocks: S up to n l'
};

/// What to set so that `path` runs everywhere, or from a minimum on with `below` under it.
struct ProjectSetting {
  SwitchTarget path = SwitchTarget::none;
  SwitchTarget below = SwitchTarget::none;  // only with a minimum
  Compared compared = Compared::nothing;
  unsigned phases = kInAllPhases;
  std::span<const ProjectVariable> variables = {};
};

struct ProjectStage {
  Stage stage = Stage::attend_selected;
  std::span<const ProjectPath> paths = {};
  std::span<const ProjectSetting> settings = {};
};

/// A size of a workspace that the project allocates ahead; `most` is its own limit.
struct ProjectReserveSize {
  std::string_view variable = {};
  std::optional<std::int64_t> Reserves::*value;
  std::int64_t most = 0;
};

/// A workspace that the project allocates ahead, and the paths of selected attention that use it:
/// where none of them runs, it is memory that nobody needs.
struct ProjectReserve {
  std::span<const SwitchTarget> paths = {};
  std::optional<ReserveGain> ReserveGains::*gain;
  std::span<const ProjectReserveSize> sizes = {};
};

/// A key of the project's YAML and the variable that it stands for.
struct ProjectKey {
  std::string_view key = {};  // "runtime.fa2_enabled"
  std::string_view variable = {};
  bool boolean = false;  // true and false rather than 1 and 0
};

/// Which way the project goes for one stage, and the variables that made it so.
struct ProjectRoute {
  Stage stage = Stage::attend_selected;
  SwitchTarget path = SwitchTarget::none;
  std::string why;
};

/// Variables as they will be set, by name.
using ProjectValues = std::map<std::string, std::string>;

struct Project {
  std::string_view name = {};    // of --for
  std::string_view what = {};    // one line: which program, which revision
  std::string_view always = {};  // its word for a minimum that every length reaches
  std::span<const ProjectStage> stages = {};
  std::span<const ProjectReserve> reserves = {};
  std::span<const ProjectKey> keys = {};  // of its YAML
  bool takes_all = false;                 // no path refuses a problem
  /// Adds what the settings lean on: a global switch, a guard of one architecture. Returns a line
  /// for each variable that it adds for a stage that is left as it is.
  std::vector<std::string> (*complete)(ProjectValues&, Phase, const Device&) = nullptr;
  /// What runs with these variables.
  std::vector<ProjectRoute> (*route)(const EnvSnapshot&, const Problem&, const Device&) = nullptr;
};

/// All rows.
std::span<const Project> projects();
/// The row of that name. InputError with the names that there are.
const Project& find_project(std::string_view name);

/// The project's own word for a path of a stage, or "".
std::string_view path_name(const Project& project, Stage stage, SwitchTarget path);

/// The names of the flat view as if one program had them all: those of nsa-vibe without what it
/// refuses, and with the minimum of the range converter that its documents describe.
const Project& users_names();

/// The path of a project that a variant stands in for, or is; nullptr: the project has not got it.
/// `named`: what the switches call the variant, none where unknown.
const ProjectPath* path_of(const Project& project, const VariantId& id, SwitchTarget named);

}  // namespace nsa::tuner
