// SHA-256 (FIPS 180-4).
#pragma once

#include <string>
#include <string_view>

namespace nsa::source_hash {

/// 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace nsa::source_hash
