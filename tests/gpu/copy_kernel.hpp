// A kernel that copies, and nothing else: what it moves through DRAM is known.
#pragma once

#include <cstddef>

struct CUstream_st;

namespace nsa::test {

/// `bytes` is a multiple of 16.
void launch_copy(void* to, const void* from, std::size_t bytes, CUstream_st* stream);

}  // namespace nsa::test
