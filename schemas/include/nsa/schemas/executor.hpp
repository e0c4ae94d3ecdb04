// Whose variants are ours.
#pragma once

#include <string_view>

namespace nsa {

/// The executor of the variants in our own table; a foreign worker gives another name.
inline constexpr std::string_view kOwnExecutor = "nsatune";

}  // namespace nsa
