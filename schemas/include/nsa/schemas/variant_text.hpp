// How coordinates are spelled: "bq=64.st=3", in every text that is written. Older files, databases
// and commands say "bq64.st3"; whatever reads a variant's text takes both. Functions share nothing:
// threads may call them at the same time.
#pragma once

#include <string>
#include <string_view>

#include "nsa/schemas/variant.hpp"

namespace nsa {

/// "bq=64.st=3"; empty for a point without coordinates.
std::string point_text(const Point& point);
/// The reverse, of either spelling, also with ';' between coordinates, as CSV files had it; throws
/// InputError that names `whole`.
Point parse_point(std::string_view text, std::string_view whole);

/// A text that begins with a variant ("stage/name.bq64 prefill 1x2048") as it is spelled now; one
/// that names no variant stays as it is.
std::string with_current_point(const std::string& text);
/// The same in the older spelling, for patterns that users wrote before.
std::string with_older_point(std::string text);

}  // namespace nsa
