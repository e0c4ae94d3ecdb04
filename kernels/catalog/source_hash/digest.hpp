// What is hashed of a source, and the hash.
#pragma once

#include <string>
#include <string_view>

namespace nsa::source_hash {

/// 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// The C++ or CUDA source without comments, blank lines, indentation and `#include` lines. Literals
/// stay as they are, raw strings among them.
std::string code_text(std::string_view source);

}  // namespace nsa::source_hash
