// Whose launch it was that a pass apart from the timed ones looked at.
#pragma once

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

}  // namespace nsa
