#include "nsa/schemas/text/ratio.hpp"

#include <fmt/format.h>

#include <cmath>

namespace nsa {

std::string three_digits(double value) {
  const double size = std::abs(value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

std::string format_ratio(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  const bool usual = ratio >= 0.995 && ratio < 9999.5;
  return (usual ? three_digits(ratio) : fmt::format("{:.{}g}", ratio, ratio < 1 ? 3 : 2)) + "x";
}

}  // namespace nsa
