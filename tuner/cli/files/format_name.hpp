// The names of the formats that import and export take.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/text.hpp"

namespace nsa::cli {

/// "import: no format 'foo'; use one of csv, json, ...", with `hint` or, where it is empty, the
/// name that may have been meant.
[[noreturn]] inline void refuse_format(const char* command, const std::string& name,
                                       const std::vector<std::string>& known,
                                       const std::string& hint = "") {
  const std::vector<std::string_view> names(known.begin(), known.end());
  throw InputError(fmt::format("{}: no format '{}'; use one of {}{}", command, name,
                               fmt::join(known, ", "),
                               hint.empty() ? did_you_mean(name, names) : hint));
}

}  // namespace nsa::cli
