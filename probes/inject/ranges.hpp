// The NVTX ranges that are open on each thread, for a note on a hang.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace nsa::inject {

/// The open ranges of a thread, also for another thread that closes one of them; null when the
/// thread is about to end.
struct OpenRanges;
using ThreadRanges = std::shared_ptr<OpenRanges>;
ThreadRanges ranges_of_this_thread();
/// False for a null handle.
bool push_range(const ThreadRanges& of, const void* domain, std::string_view name);
std::string pop_range(const ThreadRanges& of, const void* domain);

/// Called by the thread that opens or closes the range. Each NVTX domain (null: the default one)
/// has a stack of its own.
void push_range(const void* domain, std::string_view name);
/// The name of the range that ends; empty where none was open.
std::string pop_range(const void* domain);
/// Whether this thread has an open range whose name fits.
bool is_open(const std::function<bool(std::string_view)>& fits);
/// The name of this thread's innermost open range; empty without one.
std::string innermost_range();
/// "thread 123: step 3 > attend_selected", a line for each thread with open ranges.
std::string open_ranges();

}  // namespace nsa::inject
