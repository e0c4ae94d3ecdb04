// What a decision needs of a measurement: a few numbers a row, and what many rows share once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "nsa/schemas/measurement.hpp"

namespace nsa::tuner {

/// How the reason of a `bad_reply` begins whose samples cannot be true.
inline constexpr std::string_view kNotBelieved = "not believed: ";
/// Likewise of a row whose whole contest was left out as too long: it says nothing of its variant,
/// whatever other runs have measured, and is no observation.
inline constexpr std::string_view kContestLeftOut = "contest left out: ";

/// One row without its samples. Pointers are into the Observations that it is part of.
struct Observation {
  const Problem* problem = nullptr;
  const VariantId* variant = nullptr;
  const std::string* executor = nullptr;
  const std::string* run_id = nullptr;
  const std::string* board = nullptr;  // uuid of its device, "" where it has none
  const std::string* pair_id = nullptr;
  const std::string* source_hash = nullptr;
  const std::string* measured_at = nullptr;  // ISO 8601: the order of texts is that of time
  std::int64_t process = 0, round = 0, position = 0;
  bool control = false, held_out = false, cold = true;
  LaunchMode launch = LaunchMode::eager;
  Timer timer = Timer::host;
  Outcome outcome = Outcome::ok;
  bool not_believed = false;  // its samples cannot be true
  Verification verification = Verification::unverified;
  /// log of the median of device_ns, of a noisy row as well; NaN: there is no time
  double log_ns = std::numeric_limits<double>::quiet_NaN();
  std::int64_t grow_events = 0;
  std::optional<std::int64_t> first_call_ns = {};  // of its process, with an empty workspace
  ReserveNeed need;                                // zeros: nothing was asked for
};

/// Rows of one device. Its memory follows the number of problems and rows, not of samples. Copies
/// share what rows have in common, which is only ever added to; so threads may share one only while
/// nothing is added to it or to a copy.
class Observations {
 public:
  Observations() = default;
  Observations(const std::vector<Measurement>& rows) {
    for (const Measurement& row : rows) add(row);
  }

  /// Adds a row, of whose samples the median alone is kept; not one of a contest that was left out.
  void add(const Measurement& row);
  /// All rows, in the order in which they were added.
  const std::vector<Observation>& rows() const noexcept { return rows_; }
  /// Whether there is no row.
  bool empty() const noexcept { return rows_.empty(); }
  /// Those that `wanted` accepts.
  template <class Wanted>
  Observations only(const Wanted& wanted) const {
    Observations result;
    result.common_ = common_;
    std::ranges::copy_if(rows_, std::back_inserter(result.rows_), wanted);
    return result;
  }

 private:
  struct TextHash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  struct Common {
    std::deque<Problem> problems;
    std::map<std::string, std::vector<const Problem*>> problems_by_lengths;
    std::set<VariantId> variants;
    std::unordered_set<std::string, TextHash, std::equal_to<>> texts;
  };
  const Problem* shared(const Problem& problem);
  const std::string* shared(std::string_view text);

  std::vector<Observation> rows_;
  std::shared_ptr<Common> common_ = std::make_shared<Common>();
};

}  // namespace nsa::tuner
