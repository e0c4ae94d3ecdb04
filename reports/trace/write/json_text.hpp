// Texts as JSON: names are data, whatever bytes they are made of.
#pragma once

#include <string>
#include <string_view>

namespace nsa::trace {

/// With quotes, all control characters escaped; bytes that are no UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

}  // namespace nsa::trace
