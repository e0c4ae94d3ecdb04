// One parser for the values of all variables, and how they are shown in a warning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nsa::env {

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);
/// 1/true/yes/on and 0/false/no/off, any case.
std::optional<bool> parse_boolean(std::string_view text);
/// The whole text, an optional '+', nothing after it.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_real(std::string_view text);
/// A value or name that may be hostile: one line, not long.
std::string shown(std::string_view value);
/// The warning of a name that no one knows, with the nearest known one.
std::string unknown_name(std::string_view name);

}  // namespace nsa::env
