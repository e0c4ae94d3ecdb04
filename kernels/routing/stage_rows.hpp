// The rows of one stage that this device may run, with what has to be known of them beforehand.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/kernels/catalog.hpp"

namespace nsa::routing {

/// Rows of a stage as a set: bit i is row i.
using RowSet = std::uint64_t;
constexpr int kNoRow = -1;

struct Row {
  const Variant* variant = nullptr;
  bool usable = false;        // right back end, built, enough compute capability
  std::vector<Point> points;  // all of its coordinates; one empty point without coordinates
  std::string unusable;       // "gather: not built into this program"
  std::string unsupported;    // "gather: does not support this problem"

  /// What runs where nobody has measured.
  const Point& default_point(const Problem& problem) const noexcept {
    return points[variant->default_point ? variant->default_point(problem) : 0];
  }
};

/// Rows of one stage for one back end, in the order of the table.
struct StageRows {
  Stage stage = Stage::attend_selected;
  std::vector<Row> rows;
  std::vector<int> built_in;  // rows in the order in which the built-in default takes them

  int find(std::string_view name) const noexcept;
  /// The first of several names that is there.
  int find_any(std::initializer_list<std::string_view> names) const noexcept;
  RowSet set_of(std::initializer_list<std::string_view> names) const noexcept;
  RowSet set_of_prefix(std::string_view prefix) const noexcept;
};

constexpr RowSet bit(int row) noexcept { return RowSet{1} << row; }

StageRows make_stage_rows(Stage stage, std::span<const Variant> catalog, const Device& device);

/// Whether the row runs this problem. Does not allocate where the answer is yes.
bool runs(const Row& row, const Problem& problem, const Device& device) noexcept;
/// The row's own reason, for explain().
std::string why_not(const Row& row, const Problem& problem, const Device& device);

/// Names in the order of the built-in default: the fastest exact form first.
std::vector<int> built_in_order(const StageRows& rows);

}  // namespace nsa::routing
