// Kernels of the tests themselves.
#pragma once

#include <cstddef>

struct CUstream_st;

namespace nsa::test {

void launch_empty(CUstream_st* stream);
/// Threads that each launch it that often, on a stream of their own; returns when all is done.
void launch_empty_from_threads(int threads, int launches_each);

/// `bytes` is a multiple of 16.
void launch_copy(void* to, const void* from, std::size_t bytes, CUstream_st* stream);

}  // namespace nsa::test
