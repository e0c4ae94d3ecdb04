// What moves data between GPUs, by its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nsa::trace {

/// What a kernel or copy belongs to, and what it does: "nccl" and "all_reduce".
struct CommName {
  std::string transport;
  std::string collective;  // "other" where the name does not tell
};

/// Of a kernel: NCCL and RCCL, and the kernels of programs that go around them. Nothing for kernels
/// that compute too (a product with communication in it), since they hide it.
std::optional<CommName> comm_of_kernel(std::string_view name);
/// Of a copy: between two GPUs.
std::optional<CommName> comm_of_copy(std::string_view name);
/// Whether copies in a range of the host are communication: Gloo's, through the host's memory.
bool copies_of_comm(std::string_view range);

/// all_reduce, all_gather, reduce_scatter, all_to_all, send_recv, broadcast, barrier, gather,
/// scatter, reduce, send, recv or other, of any spelling: "_allgather_base", "AllReduce".
std::string collective_of(std::string_view name);
/// Whether no rank is through before all have come.
bool waits_for_all(std::string_view collective);

}  // namespace nsa::trace
