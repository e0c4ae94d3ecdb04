// Which range of the host stands in which, and which range launched what.
#pragma once

#include <cstdint>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// Numbers are into Trace::ranges; kNone = none. Ranges that were never closed are in no tree:
/// nobody knows what they hold.
struct HostTree {
  std::vector<std::uint32_t> parent;   // [ranges]
  std::vector<std::uint32_t> of_call;  // [calls] the innermost range around its start
  std::vector<std::uint32_t> of_op;    // [ops] that of its launch; else the one of its External id
};

/// `launch`: [ops] the launch call of each operation.
HostTree host_tree(const Trace& trace, const std::vector<std::uint32_t>& launch);

/// Calls `visit(range)` for a range and those around it, from the inside out.
template <class Visit>
void for_each_around(const HostTree& tree, std::uint32_t range, Visit visit) {
  for (; range != UINT32_MAX; range = tree.parent[range]) visit(range);
}

}  // namespace nsa::trace
