// A kernel that does nothing, to be counted.
#pragma once

struct CUstream_st;

namespace nsa::test {

void launch_empty(CUstream_st* stream);
/// Threads that each launch it that often, on a stream of their own; returns when all is done.
void launch_empty_from_threads(int threads, int launches_each);

}  // namespace nsa::test
