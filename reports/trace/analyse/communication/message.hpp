// What was sent: from the parameters that PyTorch's profiler keeps of a collective, or that NCCL
// gives with its own ranges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace nsa::trace {

/// Absent or empty: not recorded.
struct Message {
  std::string collective, dtype;
  std::string group;       // who takes part, the same text on all of them
  std::string group_name;  // what the program calls it
  std::optional<std::int64_t> group_size;
  std::optional<std::int64_t> sequence;  // which collective of its group it is
  std::optional<std::int64_t> bytes;     // its size as nccl-tests define it
};

/// `arguments`: members of a JSON object (HostRange::arguments, GpuOp::arguments). `range`: the
/// name of the range that holds them; old files have shapes in ranges "nccl:all_reduce" and in the
/// operators around them, and NCCL's own are called as its functions. Nothing where they describe
/// no collective.
std::optional<Message> message_of(const std::string& arguments, const std::string& range);

/// Bytes per second over the bus by bytes per second of the message: what nccl-tests multiply with
/// (its doc/PERFORMANCE.md), of `ranks`. Nothing for what is not known, or of one rank.
std::optional<double> bus_factor(const std::string& collective, std::optional<std::int64_t> ranks);

}  // namespace nsa::trace
