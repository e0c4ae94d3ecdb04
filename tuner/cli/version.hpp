// Which build this is.
#pragma once

#include <optional>
#include <string>

#include "nsa/schemas/json.hpp"

namespace nsa::cli {

/// "nsatune 0.1.0"
std::string program_version();
/// Version, git revision, compiler and build type: another build is another run.
std::string build_id();
/// What --version prints.
std::string version_text();
/// What --version --json prints: version.schema.json.
Json version_json();

}  // namespace nsa::cli
