// Which rows count, and for which variants they may speak.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nsa/tuner/decide.hpp"

namespace nsa::tuner {

using Rows = std::vector<const Observation*>;

/// The rules for the rows of one decision. A variant that gave a wrong result or times that cannot
/// be true on any problem of the class is out for the whole class: lengths between the measured
/// ones were not checked, and other times of it may lie within what can be true.
class RowFilter {
 public:
  RowFilter(const DecideInput& input, const Rows& rows);

  /// May be chosen at all: neither baseline, nor slow path, nor wrong, nor lying.
  bool eligible(const VariantId& id) const;
  /// What breaks ties, the least first: how fast its work grows in the length of the axis, then its
  /// place in the built-in order. Variants of others come last, undeclared orders after declared.
  using TieOrder = std::pair<double, std::size_t>;
  TieOrder tie_order(const VariantId& id, Axis axis) const;
  /// The declared exponent of its work in the length of the axis.
  std::optional<double> exponent(const VariantId& id, Axis axis) const;
  /// The row's time may be used.
  bool counts(const Observation& row) const;
  /// The variant may be chosen on a problem with these rows: something counts, and nothing failed
  /// there (`noisy` says something of the machine, not of the variant).
  bool usable(const VariantId& id, const Rows& rows_of_problem) const;

 private:
  const VariantTraits* traits(const VariantId& id) const;

  const DecideInput& input_;
  Direction direction_ = Direction::forward;  // of all rows
  std::set<VariantId> wrong_;
  std::unordered_map<const VariantId*, const VariantTraits*> known_;  // of the rows' variants
};

/// A line for each reason and variant, "wrong_result: attend_selected/x (3 rows)"; for a reason of
/// many variants one line, with those that have most rows.
std::vector<std::string> left_out(const DecideInput& input);

/// What tells two problems of one class apart.
std::string problem_key(const Problem& problem);
/// "attend_selected", several joined with '+'.
std::string join_stages(const std::vector<std::string>& stages);
/// Place of the first stage in the order in which stages run; unknown ones last.
std::size_t stage_order(const std::vector<std::string>& stages);

}  // namespace nsa::tuner
