#include "flat_view.hpp"

#include <algorithm>
#include <functional>
#include <string_view>

namespace nsa::tuner {
namespace {

using Matches = std::function<bool(const VariantId&)>;

Matches starts_with(std::string_view prefix) {
  return [prefix](const VariantId& id) { return std::string_view(id.name).starts_with(prefix); };
}

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

void add_selected(const ClassDecisions& of, FlatView& flat) {
  const Decision* selected = find(of, "attend_selected");
  if (!selected) return;
  const Matches varlen = starts_with("varlen"), triton = starts_with("triton");
  const Matches masked = starts_with("masked"), packed = starts_with("packed");
  flat.force_sel_mask = everywhere(selected, masked);
  flat.use_sel_pack = anywhere(selected, packed);
  flat.use_sel_varlen = anywhere(selected, varlen);
  flat.sel_varlen_min_l = row_tokens(of, number_of(selected, varlen, flat), flat);
  flat.sel_triton_min_l = row_tokens(of, number_of(selected, triton, flat), flat);
  // The names know `masked` and `packed` as switches without a length, and no other kernel at all.
  const bool sayable = everywhere(selected, masked) || everywhere(selected, packed) ||
                       everywhere(selected, [&](const VariantId& id) {
                         return packed(id) || varlen(id) || triton(id);
                       });
  flat.lossy = flat.lossy || !sayable;
}

bool sequential_prefill(const ClassDecisions& of) {
  const Matches sequential = [](const VariantId& id) {
    return id.name.find("sequential") != std::string::npos;
  };
  for (const std::string_view stage : {"model", "layer", "attention"}) {
    if (const Decision* plan = find(of, stage)) return everywhere(plan, sequential);
  }
  return false;
}

}  // namespace

FlatView flat_view(const ClassDecisions& of) {
  FlatView flat;
  flat.sel_ranges_v2_min_s = number_of(find(of, "ranges"), starts_with("ranges_v2"), flat);
  flat.fa2_min_len_win = number_of(find(of, "attend_window"), starts_with("fa2"), flat);
  flat.fa2_min_len_cmp = number_of(find(of, "attend_compressed"), starts_with("fa2"), flat);
  add_selected(of, flat);
  flat.p_cmp_mixed = switch_of(find(of, "score"), starts_with("p_cmp_"), flat);
  flat.gate_compile = switch_of(
      find(of, "gate_combine"),
      [](const VariantId& id) { return id.name.find("fused") != std::string::npos; }, flat);
  flat.prefill_batched = !sequential_prefill(of);
  flat.varlen_reserve_n = of.reserves.varlen_reserve_n;
  flat.varlen_reserve_k = of.reserves.varlen_reserve_k;
  flat.sel_pack_reserve_n = of.reserves.sel_pack_reserve_n;
  flat.sel_pack_reserve_l = of.reserves.sel_pack_reserve_l;
  return flat;
}

}  // namespace nsa::tuner
