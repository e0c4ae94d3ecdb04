// What of a source file can change machine code: neither comments nor white space nor the names of
// the headers that it includes, whose contents are looked at on their own.
#pragma once

#include <string>
#include <string_view>

namespace nsa::source_hash {

/// The C++ or CUDA source without comments, blank lines, indentation and `#include` lines. Literals
/// stay as they are, raw strings among them.
std::string code_text(std::string_view source);

}  // namespace nsa::source_hash
