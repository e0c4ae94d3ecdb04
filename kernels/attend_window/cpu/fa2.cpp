// `fa2_dense` and `fa2_varlen`: see cpu/band/blocked.cpp.
#include "cpu/band/launch.hpp"

namespace nsa::attend_window {
namespace {

using Launch = cpu::BandLaunch<cpu::BandKind::window>;
using cpu::Layout;

}  // namespace

void fa2_dense(const LaunchArgs& args) { Launch::blocked(args, Layout::dense); }
void fa2_varlen(const LaunchArgs& args) { Launch::blocked(args, Layout::varlen); }
std::int64_t fa2_dense_bytes(const Problem& problem) {
  return Launch::blocked_bytes(problem, Layout::dense);
}
std::int64_t fa2_varlen_bytes(const Problem& problem) {
  return Launch::blocked_bytes(problem, Layout::varlen);
}

}  // namespace nsa::attend_window
