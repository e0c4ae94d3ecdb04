#include "flat_view.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace nsa::tuner {
namespace {

using Matches = std::function<bool(const VariantId&)>;

/// Which variants go by a name of the users' own.
class Paths {
 public:
  explicit Paths(const std::vector<VariantTraits>& variants) : variants_(variants) {}

  /// Variants that go by one of these.
  Matches any_of(std::vector<SwitchTarget> paths) const {
    return [this, paths = std::move(paths)](const VariantId& id) {
      return std::ranges::find(paths, path_of(id)) != paths.end();
    };
  }

 private:
  SwitchTarget path_of(const VariantId& id) const {
    for (const VariantTraits& traits : variants_) {
      if (traits.id == id) return traits.path;
    }
    return switch_target_of(id.name).value_or(SwitchTarget::none);
  }
  const std::vector<VariantTraits>& variants_;
};

const Decision* find(const ClassDecisions& of, std::string_view stage) {
  for (const Decision& decision : of.decisions) {
    if (decision.stages.size() == 1 && decision.stages.front() == stage) return &decision;
  }
  return nullptr;
}

struct Crossing {
  std::optional<std::int64_t> from;  // from here on without an end; nothing = never
  bool lossy = false;                // also chosen below, or left again
};

Crossing crossing(const Decision* decision, const Matches& matches) {
  Crossing result;
  if (!decision) return result;
  for (const ThresholdRange& range : decision->ranges) {
    if (!matches(range.variant)) {
      if (result.from) result.lossy = true;
      result.from.reset();
    } else if (!result.from) {
      result.from = range.from;
    }
  }
  return result;
}

bool anywhere(const Decision* decision, const Matches& matches) {
  return decision && std::any_of(decision->ranges.begin(), decision->ranges.end(),
                                 [&](const ThresholdRange& r) { return matches(r.variant); });
}

bool everywhere(const Decision* decision, const Matches& matches) {
  return decision && std::all_of(decision->ranges.begin(), decision->ranges.end(),
                                 [&](const ThresholdRange& r) { return matches(r.variant); });
}

/// A switch for a choice that is made by length: on where it is chosen at all.
bool switch_of(const Decision* decision, const Matches& matches, FlatView& flat) {
  const bool any = anywhere(decision, matches);
  if (any && !everywhere(decision, matches)) flat.lossy = true;
  return any;
}

std::optional<std::int64_t> number_of(const Decision* decision, const Matches& matches,
                                      FlatView& flat) {
  const Crossing found = crossing(decision, matches);
  flat.lossy = flat.lossy || found.lossy;
  return found.from;
}

/// The names compare tokens of the longest selected row: S until it has all n blocks, n l' then.
std::optional<std::int64_t> row_tokens(const ClassDecisions& of, std::optional<std::int64_t> from,
                                       FlatView& flat) {
  const Geometry& g = of.problem_class.geometry;
  const std::int64_t full = g.sel_count * g.sel_block;
  if (!from || *from <= full) return from;
  flat.lossy = true;
  return full;
}

void add_selected(const ClassDecisions& of, const Paths& paths, FlatView& flat) {
  using enum SwitchTarget;
  const Decision* selected = find(of, "attend_selected");
  if (!selected) return;
  const Matches by_varlen = paths.any_of({varlen_v1, varlen_v2});
  const Matches by_triton = paths.any_of({triton}), by_mask = paths.any_of({masked});
  const Matches by_pack = paths.any_of({packed});
  flat.force_sel_mask = everywhere(selected, by_mask);
  flat.use_sel_pack = anywhere(selected, by_pack);
  flat.use_sel_varlen = anywhere(selected, by_varlen);
  flat.sel_varlen_min_l = row_tokens(of, number_of(selected, by_varlen, flat), flat);
  flat.sel_triton_min_l = row_tokens(of, number_of(selected, by_triton, flat), flat);
  // The names know `masked` and `packed` as switches without a length, and no other kernel at all.
  const bool sayable = everywhere(selected, by_mask) ||
                       everywhere(selected, paths.any_of({packed, varlen_v1, varlen_v2, triton}));
  flat.lossy = flat.lossy || !sayable;
}

bool sequential_prefill(const ClassDecisions& of, const Paths& paths) {
  for (const std::string_view stage : {"model", "layer", "attention"}) {
    if (const Decision* plan = find(of, stage))
      return everywhere(plan, paths.any_of({SwitchTarget::sequential}));
  }
  return false;
}

}  // namespace

FlatView flat_view(const ClassDecisions& of, const std::vector<VariantTraits>& variants) {
  using enum SwitchTarget;
  const Paths paths(variants);
  const Matches fa2 = paths.any_of({fa2_dense, fa2_varlen});
  FlatView flat;
  flat.sel_ranges_v2_min_s = number_of(find(of, "ranges"), paths.any_of({ranges_v2}), flat);
  flat.fa2_min_len_win = number_of(find(of, "attend_window"), fa2, flat);
  flat.fa2_min_len_cmp = number_of(find(of, "attend_compressed"), fa2, flat);
  add_selected(of, paths, flat);
  flat.p_cmp_mixed = switch_of(find(of, "score"), paths.any_of({p_cmp_mixed}), flat);
  flat.gate_compile = switch_of(find(of, "gate_combine"), paths.any_of({gate_fused}), flat);
  flat.prefill_batched = !sequential_prefill(of, paths);
  flat.varlen_reserve_n = of.reserves.varlen_reserve_n;
  flat.varlen_reserve_k = of.reserves.varlen_reserve_k;
  flat.sel_pack_reserve_n = of.reserves.sel_pack_reserve_n;
  flat.sel_pack_reserve_l = of.reserves.sel_pack_reserve_l;
  return flat;
}

}  // namespace nsa::tuner
