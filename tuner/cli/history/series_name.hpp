// What a series of the results database is called.
#pragma once

#include <string>

#include "nsa/schemas/measurement.hpp"

namespace nsa::cli {

/// Everything that tells a row from rows of other series, but its device, the same in every
/// database: "attend_selected/fused_query.bq=64 prefill 1x2048 fp32 12/2x64 l32 d16 b64 n16 w512
/// random eager host cold".
std::string nightly_series_name(const Measurement& row);

}  // namespace nsa::cli
