#include "nsa/probes/nvtx.hpp"

namespace nsa::probes {

void push_range(const char*) noexcept {}
void pop_range() noexcept {}

}  // namespace nsa::probes
