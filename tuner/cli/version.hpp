// Which build this is.
#pragma once

#include <string>

namespace nsa::cli {

/// "nsatune 0.1.0"
std::string program_version();
/// Version, git revision, compiler and build type: another build is another run.
std::string build_id();
/// What --version prints.
std::string version_text();

}  // namespace nsa::cli
