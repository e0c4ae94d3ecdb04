// Numbers with their units, three significant digits.
#pragma once

#include <cstdint>
#include <string>

#include "nsa/schemas/text/ratio.hpp"

namespace nsa::reports {

/// "812 ns", "18.3 us", "4.12 ms", "1.20 s"
std::string format_ns(double ns);
/// "812 MFLOP/s", "18.3 GFLOP/s", "4.12 TFLOP/s"
std::string format_flop_per_s(double flop_per_s);
/// "512 B", "1.5 KiB", "139.8 GiB"
std::string format_bytes(std::int64_t bytes);
/// 0.0123 -> "1.23 %"
std::string format_percent(double share);
using nsa::format_ratio;
/// "65,536"
std::string format_tokens(std::int64_t tokens);
/// "0.3 s", "42 s", "7 min 30 s", "2 h 13 min", "9.5 days": of what a person waits for.
std::string format_duration(double seconds);
/// "42s", "3m07s", "2h05m"
std::string format_seconds_left(double seconds);

}  // namespace nsa::reports
