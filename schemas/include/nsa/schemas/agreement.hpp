// How far a selection of reduced precision picks the blocks of the exact one.
#pragma once

#include <cstdint>
#include <string>

#include "nsa/schemas/launch_subject.hpp"

namespace nsa {

/// Blocks of the rows that were checked. What ties in the reference may fall either way, so less
/// than all of them need not be wrong.
struct Agreement {
  std::int64_t blocks = 0;  // that the fp64 reference selects
  std::int64_t same = 0;    // that the variant selects too
  bool operator==(const Agreement&) const = default;
  /// Of 1; there is one block at least.
  double share() const noexcept { return static_cast<double>(same) / static_cast<double>(blocks); }
};

/// An agreement and what it belongs to.
struct AgreementRow : LaunchSubject {
  std::string checked_at;  // ISO 8601, UTC
  Agreement agreement;
  bool operator==(const AgreementRow&) const = default;
};

}  // namespace nsa
