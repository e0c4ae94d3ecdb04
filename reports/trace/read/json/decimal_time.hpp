// Decimal text to integers, exactly: a double loses nanoseconds of today's microsecond stamps.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nsa::trace {

/// "4458676522690.655" (microseconds) -> 4458676522690655 ns. Digits after the nanosecond are
/// rounded, half away from zero. Exponents are allowed. Nothing when it is no JSON number or
/// exceeds 64 bits.
std::optional<std::int64_t> microseconds_to_ns(std::string_view text);
/// Whether the text is a number as JSON has them (no NaN, no leading zeros, no plus).
bool is_json_number(std::string_view text);

}  // namespace nsa::trace
