// The table of NSA_* names and one parser for their values. Threads may share what is here and none
// of them changes, and call all functions; but setenv() in one thread while another takes a
// snapshot of the process is a race of the C library.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nsa {

/// What the switches (NSA_*), and the flat view of a thresholds file, can say of a variant: the
/// paths that the users' program has names for. Each row of the table of variants says which one it
/// is.
enum class SwitchTarget : std::uint8_t {
  none,
  ranges_v1,
  ranges_v2,
  p_cmp_mixed,
  p_slc_mixed,
  masked,
  packed,
  varlen_v1,
  varlen_v2,
  gather,
  row_loop,  // the slow path _sdpa_over_ranges, which their logs call "ranges"
  triton,    // a kernel that the users' program has and this one has not
  fa2_dense,
  fa2_varlen,
  sdpa,
  gate_fused,
  batched,
  sequential,
};
/// The name of the path, as the rows of the table write it: "ranges_v2".
std::string_view to_string(SwitchTarget value) noexcept;
/// The path of that name, or nothing.
std::optional<SwitchTarget> switch_target_of(std::string_view name) noexcept;

enum class EnvKind : std::uint8_t { boolean, integer, real, text };
/// runtime: changes a decision or a constant. no_effect: accepted, listed with the reason.
/// trainer: belongs to the training script, never warned about.
enum class EnvScope : std::uint8_t { runtime, no_effect, trainer };

struct EnvName {
  std::string_view name;
  EnvKind kind = EnvKind::boolean;
  EnvScope scope = EnvScope::runtime;
  std::string_view effect;  // what it changes, or why it does not
};

/// All names that are known, sorted.
std::span<const EnvName> env_names();
/// The row of that name, or nullptr.
const EnvName* find_env_name(std::string_view name);

/// The NSA_* variables of one moment: name and raw value, sorted by name.
struct EnvSnapshot {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> warnings;  // unknown names, values that do not parse: one line each
  std::vector<std::string> refused;   // of those, values of runtime names: a program's bad input

  /// The value as it was set; null when unset. Lives as long as the snapshot.
  const std::string* raw(std::string_view name) const noexcept;
  /// 1/true/yes/on and 0/false/no/off, any case; nothing when unset or not a boolean.
  std::optional<bool> boolean(std::string_view name) const noexcept;
  /// A decimal integer of 64 bits; nothing when unset or none.
  std::optional<std::int64_t> integer(std::string_view name) const noexcept;
  /// A number; nothing when unset or none.
  std::optional<double> real(std::string_view name) const noexcept;
};

/// From "NAME=value" entries (environ). Values that do not parse warn and are left out.
EnvSnapshot snapshot_environment(std::span<const std::string> entries);
/// From the environment of this process.
EnvSnapshot snapshot_environment();

}  // namespace nsa
