// The switches of FlashAttention-2 in the dense branches: a branch's own
// flag beats the global one, unset overrides nothing, a minimum of 0 or less means never, and
// lengths are compared in tokens of the row (window) or compressed tokens (compressed branch).
#include "routing/env/rules.hpp"

namespace nsa::routing {
namespace {

constexpr std::string_view kGlobal = "NSA_USE_FA2";
constexpr std::string_view kVarlen = "NSA_FA2_FORCE_VARLEN";
constexpr std::string_view kDense = "NSA_FA2_FORCE_DENSE";
constexpr std::string_view kWindowDense = "NSA_WIN_FORCE_DENSE";
constexpr std::string_view kAllowSliding = "NSA_ALLOW_SLIDING_FA2";
constexpr std::int64_t kDefaultMinLen = 16;  // where FA-2 is switched on by a flag

/// The names and the length of one branch.
struct BranchSwitches {
  std::string_view flag, min_len;
  Length length;
};

BranchSwitches branch_of(Stage stage) {
  if (stage == Stage::attend_window) {
    return {"NSA_USE_FA2_WIN", "NSA_FA2_MIN_LEN_WIN", Length::row_len};
  }
  return {"NSA_USE_FA2_CMP", "NSA_FA2_MIN_LEN_CMP", Length::compressed_len};
}

/// fa2_dense or fa2_varlen where somebody forces one: the other is replaced wherever it was chosen.
/// none where nobody does.
SwitchTarget form_rules(RuleBuilder& build) {
  using enum SwitchTarget;
  const bool window = build.stage().stage() == Stage::attend_window;
  const auto force = [&](std::string_view name, SwitchTarget from, SwitchTarget to) {
    build.swap(build.stage().set_of({from}), build.taking({to}, build.cause({name})));
    return to;
  };
  if (build.on(kVarlen)) return force(kVarlen, fa2_dense, fa2_varlen);
  if (build.on(kDense)) return force(kDense, fa2_varlen, fa2_dense);
  if (window && build.on(kWindowDense)) return force(kWindowDense, fa2_varlen, fa2_dense);
  return none;
}

}  // namespace

void fa2_rules(RuleBuilder& build) {
  using enum SwitchTarget;
  const BranchSwitches branch = branch_of(build.stage().stage());
  const RowSet fa2 = build.stage().set_of({fa2_dense, fa2_varlen});
  const SwitchTarget form = form_rules(build);

  const std::string_view decisive = build.flag(branch.flag) ? branch.flag : kGlobal;
  const auto wanted = build.flag(decisive);
  if (wanted == false) return build.veto(fa2, build.cause({decisive}));
  // Forcing a form also lifts the policy gate of the sliding branch, as in nsa-vibe.
  if (branch.length == Length::row_len && build.off(kAllowSliding) && form == none) {
    return build.veto(fa2, build.cause({kAllowSliding}));
  }
  const auto min_len = build.number(branch.min_len);
  if (min_len && *min_len <= 0) return build.veto(fa2, build.cause({branch.min_len}));
  if (!wanted && !min_len) return;

  EnvRule below;
  below.length = branch.length;
  below.to = min_len.value_or(kDefaultMinLen);
  const std::string cause = build.cause({decisive, branch.min_len});
  build.veto(fa2, cause, below);
  if (!wanted) return;
  const bool dense_first = form == fa2_dense;
  for (const bool dense : {dense_first, !dense_first}) {
    EnvRule rule = build.taking({dense ? fa2_dense : fa2_varlen}, cause);
    rule.length = branch.length;
    rule.from = below.to;
    build.pick(std::move(rule));
  }
}

}  // namespace nsa::routing
