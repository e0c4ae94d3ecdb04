// The NVTX ranges that are open on each thread, for a note on a hang.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nsa::inject {

/// Called by the thread that opens or closes the range. Each NVTX domain (null: the default one)
/// has a stack of its own.
void push_range(const void* domain, std::string_view name);
/// The name of the range that ends; empty where none was open.
std::string pop_range(const void* domain);
/// The name of this thread's innermost open range; empty without one.
std::string innermost_range();
/// "thread 123: step 3 > attend_selected", a line for each thread with open ranges.
std::string open_ranges();

}  // namespace nsa::inject
