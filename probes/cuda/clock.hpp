// What the device itself says of time: a stamp of its counters, and a bounded hold of a stream.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace nsa::probes {

/// Counters of one multiprocessor. Zero: no block of the stamp ran there.
struct ClockStamp {
  unsigned long long cycles;     // clock64 of multiprocessor 0
  unsigned long long global_ns;  // globaltimer
};

/// Enqueues a reading of multiprocessor 0 into `stamp`, which the device must be able to write.
/// Always the same multiprocessor: the counters of two of them have different origins.
void enqueue_stamp(ClockStamp* stamp, int multiprocessors, CUstream_st* stream);

/// Enqueues a kernel that ends when `*released` equals `ticket`, or after `limit_ns`, whichever is
/// first: so it cannot hang, whatever the work after it waits for.
void enqueue_hold(const volatile std::uint32_t* released, std::uint32_t ticket,
                  std::uint64_t limit_ns, CUstream_st* stream);

}  // namespace nsa::probes
