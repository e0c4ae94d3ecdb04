#include "nsa/trace/who.hpp"

namespace nsa::trace {

std::string rank_name(const std::optional<std::int64_t>& rank, std::uint32_t part) {
  return rank ? "rank " + std::to_string(*rank) : "trace " + std::to_string(part);
}

std::optional<std::int64_t> rank_of(const Summary& summary, std::uint32_t part) {
  if (!summary.clocks) return summary.rank;
  return part < summary.ranks_of_parts.size() ? summary.ranks_of_parts[part] : std::nullopt;
}

std::string gpu_name(const Summary& summary, std::uint32_t part, std::int32_t device) {
  const std::string gpu = "GPU " + std::to_string(device);
  return summary.clocks ? rank_name(rank_of(summary, part), part) + ", " + gpu : gpu;
}

}  // namespace nsa::trace
