// Whose launch it was that a pass apart from the timed ones looked at. Plain values: threads may
// share one that none of them changes.
#pragma once

#include <cstdint>
#include <string>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/types.hpp"
#include "nsa/schemas/variant.hpp"

namespace nsa {

struct LaunchSubject {
  std::string id;      // UUID of the row
  std::string run_id;  // UUID of its run
  std::string executor = "nsatune";
  Placement placement;
  Problem problem;
  VariantId variant;
  std::string source_hash;
  LaunchMode launch = LaunchMode::eager;
  bool operator==(const LaunchSubject&) const = default;
};

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
