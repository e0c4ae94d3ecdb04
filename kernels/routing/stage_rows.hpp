// The rows of one stage, or of several stages at once, that this device may run, with what has to
// be known of them beforehand.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/kernels/directions.hpp"

namespace nsa::routing {

/// Rows of a stage as a set: bit i is row i.
using RowSet = std::uint64_t;
constexpr int kNoRow = -1;

struct Row {
  const Variant* variant = nullptr;
  bool usable = false;         // right back end, built, enough compute capability, its libraries
  std::vector<Point> points;   // all of its coordinates; one empty point without coordinates
  std::string unusable;        // "gather: not built into this program"
  std::string unsupported;     // "gather: does not support this problem"
  std::span<const Stage> one;  // stages that it computes at once, where they are several
  std::vector<int> in_turn;    // of a sequence: each part's row among those of its stage

  /// What runs where nobody has measured.
  const Point& default_point(const Problem& problem) const noexcept {
    return points[variant->default_point ? variant->default_point(problem) : 0];
  }
};

/// Rows of one stage, or of a span of them, for one back end, in the order of the table.
struct StageRows {
  std::vector<Stage> stages;
  std::uint64_t key = 0;  // span_key(stages)
  std::vector<Row> rows;
  std::vector<int> built_in;  // rows in the order in which the built-in default takes them

  Stage stage() const noexcept { return stages.front(); }
  const Row& at(int row) const noexcept { return rows[static_cast<std::size_t>(row)]; }
  int find(std::string_view name) const noexcept;
  int find(const Variant* variant) const noexcept;
  /// The first row in the order of the table that a switch can mean by one of these, asked in turn.
  int find_any(std::initializer_list<SwitchTarget> targets) const noexcept;
  RowSet set_of(std::initializer_list<SwitchTarget> targets) const noexcept;
};

constexpr RowSet bit(int row) noexcept { return RowSet{1} << row; }

/// Forward, a place for each stage, and after them one for each span of stages that rows cover;
/// then a place for each stage whose rows compute gradients: backward, and both passes of
/// composites. Launches that save are of the forward rows.
inline constexpr std::size_t kMostSpans = 4;
inline constexpr std::size_t kForwardSlots = kStageCount + kMostSpans;
inline constexpr std::size_t kSlots = kForwardSlots + kStageCount;
constexpr std::size_t slot_of(Stage stage, Direction direction) noexcept {
  return static_cast<std::size_t>(stage) + (has_gradients(direction) ? kForwardSlots : 0);
}
/// Whether a place is of rows over several stages.
constexpr bool is_span(std::size_t slot) noexcept {
  return slot >= kStageCount && slot < kForwardSlots;
}
using AllStageRows = std::array<StageRows, kSlots>;

/// The rows of `catalog` for the device, with an empty place for every span that there is not.
/// `review`: as Router::Inputs has it.
AllStageRows make_all_rows(std::span<const Variant> catalog, const Device& device, bool review);
/// Stages as one number, so that finding a span is comparing words.
inline std::uint64_t span_key(std::span<const Stage> stages) noexcept {
  std::uint64_t key = 0;
  for (const Stage stage : stages) key = key << 8 | (static_cast<std::uint64_t>(stage) + 1);
  return key;
}
/// The place of these stages, or kSlots. Rows with gradients are of one stage each.
inline std::size_t slot_of(const AllStageRows& rows, std::span<const Stage> stages,
                           Direction direction = Direction::forward) noexcept {
  if (stages.size() == 1) return slot_of(stages.front(), direction);
  if (has_gradients(direction)) return kSlots;
  const std::uint64_t key = span_key(stages);
  for (std::size_t slot = kStageCount; slot < kForwardSlots; ++slot) {
    if (rows[slot].key == key) return slot;
  }
  return kSlots;
}
/// Likewise by their names.
std::size_t slot_of(const AllStageRows& rows, const std::vector<std::string>& stages,
                    Direction direction = Direction::forward);

/// Whether the row runs this problem. Allocates nothing.
[[gnu::always_inline]] inline bool runs(const Row& row, const Problem& problem,
                                        const Device& device) noexcept {
  return row.usable && runs_asked(*row.variant, problem, device).supported;
}
/// The row's own reason, for explain(); empty where it runs.
std::string why_not(const Row& row, const Problem& problem, const Device& device);

/// Rows in the order of the built-in default, by the rank that the table gives them: exact rows
/// only, never a slow path. Which is really fastest at a length is for a thresholds file to say.
std::vector<int> built_in_order(const StageRows& rows);

}  // namespace nsa::routing
