// Middle values of what may not have been read.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "nsa/schemas/median.hpp"

namespace nsa::doctor {

/// The median; nothing for no values.
inline std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return {};
  return nsa::median(std::move(values));
}

}  // namespace nsa::doctor
