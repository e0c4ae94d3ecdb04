// Reads device memory and keeps nothing of it: afterwards the caches hold that memory, unwritten.
#pragma once

#include <cstddef>

struct CUstream_st;

namespace nsa::probes {

/// Enqueues a kernel that reads `bytes` (a multiple of 16) at `data` past L1. Where L2 is smaller,
/// whatever was in it is gone, and what was written has reached DRAM.
void enqueue_read(const void* data, std::size_t bytes, CUstream_st* stream);

}  // namespace nsa::probes
