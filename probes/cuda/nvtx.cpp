#include "nsa/probes/nvtx.hpp"

#include <nvtx3/nvToolsExt.h>

namespace nsa::probes {

void push_range(const char* name) noexcept { nvtxRangePushA(name); }
void pop_range() noexcept { nvtxRangePop(); }

}  // namespace nsa::probes
