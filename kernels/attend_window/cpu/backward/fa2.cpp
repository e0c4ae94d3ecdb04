// `fa2_varlen`, backward: see cpu/backward/band.cpp.
#include "cpu/backward/band.hpp"

namespace nsa::attend_window {
namespace {

using Backward = cpu::BandBackward<cpu::BandKind::window>;

}  // namespace

void backward_fa2_varlen(const LaunchArgs& args) { Backward::blocked(args); }
std::int64_t backward_fa2_varlen_bytes(const Problem& problem) {
  return Backward::blocked_bytes(problem);
}

}  // namespace nsa::attend_window
