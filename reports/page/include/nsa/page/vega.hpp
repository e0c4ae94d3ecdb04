// The plotting library, as the system's package has it.
#pragma once

#include <string>

namespace nsa::page {

/// Where Debian and Ubuntu put it (package libjs-vega).
inline constexpr const char* kVegaFolder = "/usr/share/javascript/vega";

/// A script that defines `vega` from the modules in `folder`, without any request.
/// @throws EnvironmentError  a module is missing or cannot be read
std::string vega_script(const std::string& folder);

}  // namespace nsa::page
