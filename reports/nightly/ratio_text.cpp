#include "nsa/nightly/ratio_text.hpp"

#include <fmt/format.h>

#include "nsa/schemas/text/ratio.hpp"

namespace nsa::nightly {

std::string ratio_text(double ratio) {
  constexpr double kMany = 1000;
  if (ratio < kMany && ratio > 1 / kMany) return fmt::format("{:+.2f} %", 100 * (ratio - 1));
  return format_ratio(ratio);
}

}  // namespace nsa::nightly
