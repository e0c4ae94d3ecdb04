// How long this process has been there.
#pragma once

namespace nsa::cli {

/// Seconds since the system started it, loading its libraries included, to a hundredth of a second;
/// 0 where the system does not say.
double process_age_s();

}  // namespace nsa::cli
