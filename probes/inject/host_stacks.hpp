// Where the threads of this process stand on the host, for a note on a hang.
#pragma once

#include <string>

namespace nsa::inject {

/// Loads what backtrace() needs, so that no signal handler has to. Once, before host_stacks().
void prime_host_stacks();

/// "123 python, waits in futex_wait: read < wait_for_batch < main", a line for each thread but the
/// caller's, innermost frame first; at most 64 threads and 64 frames of each. A thread that gives
/// no stack has the reason instead. Each thread is asked by a realtime signal that the program has
/// no handler for, so calls that wait may end with EINTR. About a second at most, unless a thread
/// holds the lock of the dynamic linker: names are looked up under it.
std::string host_stacks();

}  // namespace nsa::inject
