// What ranks and devices are called: the same in every table, page and finding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nsa/trace/summary.hpp"

namespace nsa::trace {

/// "rank 3"; where that is not stated "trace 1", by its place among those that were given.
std::string rank_name(const std::optional<std::int64_t>& rank, std::uint32_t part);
/// Of a recording in a summary; nullopt: not stated.
std::optional<std::int64_t> rank_of(const Summary& summary, std::uint32_t part);
/// "GPU 0"; of one of several recordings "rank 3, GPU 0".
std::string gpu_name(const Summary& summary, std::uint32_t part, std::int32_t device);

}  // namespace nsa::trace
