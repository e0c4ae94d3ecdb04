// Which operator is whose backward, by the arrows that the recorder drew.
#pragma once

#include <cstdint>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// Ranges at the ends of an arrow; kNone where none of some length begins there.
struct AutogradLink {
  std::uint32_t forward, backward;
};
/// [flows] Of ranges that begin at the same moment it is the outermost.
std::vector<AutogradLink> autograd_links(const Trace& trace);

}  // namespace nsa::trace
