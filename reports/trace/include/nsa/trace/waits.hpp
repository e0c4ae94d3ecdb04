// Calls in which the host waits, whatever they are called.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

enum class WaitKind : std::uint8_t { none, sync, copy, allocation, module_loading, queue_full };
/// "sync", "copy", "allocation", "module_loading", "queue_full".
std::string_view to_text(WaitKind kind);

/// [calls] What the host waits for in each of them. `launch`: [ops] the call of each operation,
/// since a copy blocks by the memory that it moves: one to pageable memory until it is done, one
/// from pageable memory of more than 64 KiB until that is in the driver's own buffer.
std::vector<WaitKind> waits_of_calls(const Trace& trace, const std::vector<std::uint32_t>& launch);

/// The same where the launches are not known yet.
std::vector<WaitKind> waits_of_calls(const Trace& trace);

/// What a record of CUDA's own time is: loading of modules, a full queue of commands.
WaitKind wait_of_overhead(const std::string& name);

}  // namespace nsa::trace
