// `packed`, `varlen_v1` and `varlen_v2` on a GPU: the seeds' ways to copy what a row selected and
// to attend to the copies.
#pragma once

#include "nsa/kernels/launch.hpp"

namespace nsa::cuda {

/// Lengths are read back, the host puts rows of equal length into buckets, and each bucket is a
/// copy and an attention of its own.
void attend_packed(const LaunchArgs& args);
/// A host loop over rows that waits for each row's ranges and copies them run by run, then one
/// attention by where rows begin.
void attend_varlen_v1(const LaunchArgs& args);
/// Lists and copies made by kernels, for as many keys as rows can have, so that nobody waits.
void attend_varlen_v2(const LaunchArgs& args);

}  // namespace nsa::cuda
