// A second stream, for work that may run beside the caller's.
#pragma once

struct CUstream_st;

namespace nsa::cuda {

/// The side stream of this thread on the current device: it goes on after all that `main` holds by
/// now. In a capture of `main` its work becomes a branch of the graph. Throws as CUDA calls do.
CUstream_st* fork_stream(CUstream_st* main);
/// `main` goes on after all that the side stream of this thread holds by now.
void join_stream(CUstream_st* main);

}  // namespace nsa::cuda
