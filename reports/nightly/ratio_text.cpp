#include "nsa/nightly/ratio_text.hpp"

#include <fmt/format.h>

namespace nsa::nightly {

std::string ratio_text(double ratio) {
  constexpr double kMany = 1000;
  if (ratio < kMany && ratio > 1 / kMany) return fmt::format("{:+.2f} %", 100 * (ratio - 1));
  return fmt::format("{:.2g}x", ratio);
}

}  // namespace nsa::nightly
