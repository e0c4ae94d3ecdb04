// The variables that the program and the runtime read, as a page of the documentation.
#pragma once

#include <string>

namespace nsa::cli {

/// docs/environment.md: NSATUNE_* of the program, then every NSA_* name of the runtime.
std::string variables_markdown();

}  // namespace nsa::cli
