// Bytes of a file that may be packed.
#pragma once

#include <string>

namespace nsa::trace {

/// The bytes themselves, or where they begin as gzip does what was packed, 4 GiB at most.
/// InputError with `where` in front where they are damaged or cut.
std::string unpacked(std::string bytes, const std::string& where);

}  // namespace nsa::trace
