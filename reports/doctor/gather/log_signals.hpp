// Words and numbers of a log line that mean something.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/doctor/evidence.hpp"

namespace nsa::doctor {

/// What a line in lower case says; each signal once.
std::vector<Signal> signals_of(std::string_view lowered);
/// 39.2 of "39.2 tok/s" or of "toks_per_s=39.2", 12300 of "tok/s: 12.3k", and the like. With ':' or
/// '=' after the unit only what follows counts; else the number directly before it, else after.
std::optional<double> tok_per_s_of(std::string_view lowered);
/// 88 of "0, 24117 MiB, 88 %", as nvidia-smi prints its CSV.
std::optional<double> gpu_percent_of(std::string_view lowered);
/// Bytes of the number that stands before `words`: 2e9 of "1.97 GiB is reserved by".
std::optional<double> bytes_before(std::string_view lowered, std::string_view words);

}  // namespace nsa::doctor
