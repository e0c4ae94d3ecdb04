// The walk over the switches of the selected branch, by the rules of this runtime: only
// names that are set decide, and what a kernel cannot run falls through with a reason.
#include "routing/env/rules.hpp"

namespace nsa::routing {
namespace {

constexpr std::string_view kForceParity = "NSA_FORCE_PARITY";
constexpr std::string_view kForceMask = "NSA_FORCE_SEL_MASK";
constexpr std::string_view kMask = "NSA_USE_SEL_MASK";
constexpr std::string_view kPack = "NSA_USE_SEL_PACK";
constexpr std::string_view kVarlen = "NSA_USE_SEL_VARLEN";
constexpr std::string_view kVarlenV2 = "NSA_SEL_VARLEN_V2";
constexpr std::string_view kVarlenMinL = "NSA_SEL_VARLEN_MIN_L";
constexpr std::string_view kVarlenParity = "NSA_SEL_VARLEN_FORCE_PARITY";

/// Which varlen runs where varlen runs, and where packed stands in for it.
void varlen_swaps(RuleBuilder& build) {
  const RowSet v1 = build.stage().set_of({SwitchTarget::varlen_v1});
  const RowSet v2 = build.stage().set_of({SwitchTarget::varlen_v2});
  if (build.on(kVarlenParity)) {
    build.swap(v1 | v2, build.taking({SwitchTarget::packed}, build.cause({kVarlenParity})));
    return;
  }
  if (const auto second = build.flag(kVarlenV2)) {
    build.swap(*second ? v1 : v2,
               build.taking({*second ? SwitchTarget::varlen_v2 : SwitchTarget::varlen_v1},
                            build.cause({kVarlenV2})));
  }
  if (const auto min_l = build.number(kVarlenMinL)) {
    EnvRule rule = build.taking({SwitchTarget::packed}, build.cause({kVarlenMinL}));
    rule.length = Length::selected_row;
    rule.to = *min_l;
    build.swap(v2, std::move(rule));
  }
}

/// Row 6 of the walk, for the phases of a batched prefill and for the others.
void last_resort(RuleBuilder& build, bool batched, const std::string& cause) {
  EnvRule slow = build.taking({SwitchTarget::row_loop}, cause);
  if (batched) {
    EnvRule gather = build.taking({SwitchTarget::gather}, cause);
    gather.phases = kPrefillPhases;
    slow.phases = kAllPhases & ~kPrefillPhases;
    build.pick(std::move(gather));
  }
  build.pick(std::move(slow));
}

}  // namespace

void selection_rules(RuleBuilder& build) {
  const bool parity = build.on(kForceParity);
  const bool batched =
      build.on("NSA_PREFILL_BATCHED") && build.number("NSA_PREFILL_TILE").value_or(0) <= 0;
  if (!parity && build.on(kForceMask)) {
    build.pick(build.taking({SwitchTarget::masked}, build.cause({kForceMask})));
  }
  if (!parity && build.on(kVarlen)) {
    build.pick(
        build.taking({SwitchTarget::varlen_v2, SwitchTarget::varlen_v1}, build.cause({kVarlen})));
  }
  if (!parity && build.on(kPack)) {
    build.pick(build.taking({SwitchTarget::packed}, build.cause({kPack})));
  }
  if (build.on(kMask) && (!parity || batched)) {
    EnvRule rule = build.taking({SwitchTarget::masked}, build.cause({kMask}));
    if (parity) rule.phases = kPrefillPhases;
    build.pick(std::move(rule));
  }
  varlen_swaps(build);

  const bool some_path_on = build.on(kForceMask) || build.on(kVarlen) || build.on(kMask);
  if (parity) {
    last_resort(build, batched, build.cause({kForceParity}));
  } else if (build.off(kPack) && !some_path_on) {
    last_resort(build, batched, build.cause({kPack}));
  }
  // Switched off by hand: not to be chosen by a weaker source either.
  if (build.off(kPack))
    build.veto(build.stage().set_of({SwitchTarget::packed}), build.cause({kPack}));
  if (build.off(kMask))
    build.veto(build.stage().set_of({SwitchTarget::masked}), build.cause({kMask}));
  if (build.off(kVarlen)) {
    build.veto(build.stage().set_of({SwitchTarget::varlen_v1, SwitchTarget::varlen_v2}),
               build.cause({kVarlen}));
  }
}

}  // namespace nsa::routing
