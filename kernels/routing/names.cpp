// Names of the enumerators of routing, as they stand in JSON.
#include "nsa/kernels/routing.hpp"

namespace nsa {
namespace {

template <std::size_t N, class Enum>
std::string_view name_at(const std::array<std::string_view, N>& names, Enum value) noexcept {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? names[i] : std::string_view("unknown");
}

}  // namespace

std::string_view to_string(Source value) noexcept {
  static constexpr std::array<std::string_view, 5> kNames{"api", "environment", "thresholds",
                                                          "shipped", "built_in"};
  return name_at(kNames, value);
}

std::string_view to_string(Fit value) noexcept {
  static constexpr std::array<std::string_view, 4> kNames{"exact", "nearest_bin", "nearest_shape",
                                                          "built_in"};
  return name_at(kNames, value);
}

std::string_view to_string(DeviceFit value) noexcept {
  static constexpr std::array<std::string_view, 4> kNames{"exact", "same_architecture", "nearest",
                                                          "built_in"};
  return name_at(kNames, value);
}

std::string_view to_string(Holds value) noexcept {
  static constexpr std::array<std::string_view, 3> kNames{"yes", "no", "unknown"};
  return name_at(kNames, value);
}

}  // namespace nsa
