// Which call launched which operation, and what stood around the call.
#pragma once

#include <cstdint>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

inline constexpr std::uint32_t kNone = UINT32_MAX;

/// For each operation the index of its launch call, or kNone. Where a runtime call and a driver
/// call below it have the same id, it is the runtime call.
std::vector<std::uint32_t> launches_of(const Trace& trace);

/// For each call the class of the innermost range around its start on its thread that has one
/// (class_of_name is indexed by NameId, -1 = none; class_of_range, where it is not empty, says more
/// of single ranges), or -1. An open range ends where the next range with a class begins.
std::vector<int> innermost_class(const Trace& trace, const std::vector<int>& class_of_name,
                                 const std::vector<int>& class_of_range = {});

/// Whether a call waits for the GPU: cudaStreamSynchronize and the like.
bool is_host_sync(const std::string& api);

}  // namespace nsa::trace
