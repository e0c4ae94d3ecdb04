// A thresholds table made ready for look-ups: rows instead of names, classes as integers.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "class_key.hpp"
#include "nsa/kernels/routing.hpp"
#include "stage_rows.hpp"

namespace nsa::routing {

/// What a range says: a row and its point, and the runner-up where it is one of ours.
struct RangeIndex {
  std::int64_t from = 0;
  std::int64_t to = std::numeric_limits<std::int64_t>::max();  // exclusive
  int row = kNoRow;
  int runner_up = kNoRow;
  const Row* candidate = nullptr;  // that row, which lives as long as the router
  const Point* point = nullptr;
  const Point* runner_up_point = nullptr;
  const ThresholdRange* range = nullptr;
  const std::string* skipped = nullptr;  // why the row cannot be taken; then row is kNoRow
  bool stale = false;
};

struct DecisionIndex {
  Axis axis = Axis::seq_len;
  std::vector<RangeIndex> ranges;   // ascending, then one that ends the search; empty = no decision
  std::int64_t multiple = 0;        // of lengths that go by `aligned`; 0 = none
  std::vector<RangeIndex> aligned;  // likewise

  /// The range that holds `value`, or null where nothing is decided.
  const RangeIndex* find(std::int64_t value) const noexcept {
    const bool apart = multiple > 0 && value % multiple == 0;
    const RangeIndex* range = (apart ? aligned : ranges).data();
    while (value >= range->to) ++range;  // of a handful: faster than halving
    return value >= range->from ? range : nullptr;
  }
};

struct ClassIndex {
  ProblemClass problem_class;
  ClassKey key;
  std::array<DecisionIndex, kSlots> decisions;  // of a stage or a span of them
  Reserves reserves;
};

/// Where a class stands on the ladder for one stage or span. `index` < 0: no class decides it.
struct ClassFit {
  std::int16_t index = -1;
  Fit fit = Fit::built_in;
};

struct TableIndex {
  bool usable = false;
  DeviceFit device_fit = DeviceFit::built_in;
  std::vector<ClassIndex> classes;
  std::deque<std::string> reasons;  // of skipped ranges; addresses stay
  std::vector<ValidatorCheck> validators;
  std::vector<std::string> warnings;

  /// The class that decides this stage or span for the key: exact, else nearest bin, else nearest
  /// shape.
  ClassFit resolve(std::size_t slot, const ProblemClass& wanted,
                   const ClassKey& key) const noexcept;
  /// The same for the reserves.
  ClassFit resolve_reserves(const ProblemClass& wanted, const ClassKey& key) const noexcept;
};

/// `table` is borrowed: ranges and points point into it. `name` is what warnings call it.
TableIndex make_index(const ThresholdTable& table, const std::string& name, const Device& device,
                      const AllStageRows& rows);

}  // namespace nsa::routing
