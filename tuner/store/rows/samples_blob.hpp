// Raw samples as one packed blob. Layout 1, little-endian (NumPy reads it in one line:
// np.frombuffer(blob, '<i8', offset=8).reshape(-1, n)):
//   byte 0     layout version, 1
//   byte 1     flags; bit 0: the cycles column is there
//   bytes 2-3  zero
//   bytes 4-7  uint32 n, the number of samples
//   then       columns of n int64 each: start_ns, device_ns, host_ns and, with the flag, cycles,
//              where -2^63 means that they were not read for that sample
// No byte at all: `db prune` dropped them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "nsa/schemas/measurement.hpp"

namespace nsa::store {

inline constexpr unsigned char kSamplesLayout = 1;

std::vector<unsigned char> pack_samples(std::span<const Sample> samples);
/// InputError on another layout version, unknown flags or a length that does not fit the count.
std::vector<Sample> unpack_samples(std::span<const unsigned char> blob);
/// The same into a vector that keeps its memory.
void unpack_samples(std::span<const unsigned char> blob, std::vector<Sample>& samples);

}  // namespace nsa::store
