// The distance that tests of training go by.
#pragma once

#include <cmath>
#include <vector>

#include "catch.hpp"

namespace nsa::test {

/// ||a - b|| / ||b||; NaN where both are 0, so that nothing is compared with nothing.
inline double relative_l2(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace nsa::test
