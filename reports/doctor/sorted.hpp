// Middle values.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

namespace nsa::doctor {

/// The upper one of two middle values; nothing for no values.
inline std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace nsa::doctor
