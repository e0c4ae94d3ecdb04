// Options of the mathematics that the environment may set (docs/nsa.md 2 and 8).
#include <array>
#include <cmath>
#include <string_view>

#include "nsa/kernels/routing.hpp"

namespace nsa {

AttentionOptions options_from(const EnvSnapshot& environment, AttentionOptions base) {
  if (const auto scale = environment.real("NSA_ROPE_SCALE")) {
    const bool usable = std::isfinite(*scale) && *scale > 0;
    base.rope_scale = usable ? *scale : 1.0;
  }
  if (const auto uniform = environment.boolean("NSA_FORCE_UNIFORM_GATE")) {
    base.uniform_gate = *uniform;
  }
  constexpr std::array<std::string_view, 3> kNames{"cmp", "sel", "win"};
  if (const std::string* branch = environment.raw("NSA_FORCE_BRANCH")) {
    for (const Branch one : kBranchOrder) {
      if (*branch == kNames[index_of(one)]) base.force_branch = one;
    }
  }
  return base;
}

}  // namespace nsa
