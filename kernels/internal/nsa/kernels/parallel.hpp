// The one layer of CPU threads: a small pool of our own, so that nothing else starts threads.
#pragma once

#include <cstdint>
#include <functional>

namespace nsa {

/// Threads that parallel_for uses, the caller included: NSATUNE_THREADS, else the CPUs that this
/// process may run on. Fixed at the first call. Throws InputError on a bad NSATUNE_THREADS.
int parallel_threads();

/// Which of the threads of the current parallel_for this is: 0 .. parallel_threads() - 1, for
/// scratch memory of its own. 0 outside of one.
int parallel_thread_index() noexcept;

/// Calls body(b, e) on pieces of [begin, end), `grain` long but for the last, from several threads.
/// Returns when all are done. The first exception of a piece is thrown again here; pieces that
/// have not begun by then are dropped. A call from inside a body runs inline, as does one that
/// finds the pool at work for another caller.
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  const std::function<void(std::int64_t, std::int64_t)>& body);

}  // namespace nsa
