#include "nsa/schemas/text.hpp"

#include <array>
#include <cstdio>

namespace nsa {

std::string format_interval(double low, double high) {
  constexpr double kKnown = 1e4;
  if (!(low > 0 && high < kKnown * low)) return "[not known]";
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "[%.3g, %.3g]", low, high);
  return text.data();
}

}  // namespace nsa
