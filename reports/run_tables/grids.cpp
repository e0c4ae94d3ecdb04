#include "nsa/run_tables/grids.hpp"

#include "ladder.hpp"

namespace nsa::run_tables {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;
using Flags = std::vector<std::string>;

struct Setting {
  const char* label;
  Variables variables;
  Flags flags;
};

std::vector<Asked> crossed(const std::vector<std::int64_t>& seq_lens, std::int64_t batch,
                           const std::vector<Setting>& settings) {
  std::vector<Asked> grid;
  for (const std::int64_t seq_len : seq_lens) {
    for (const Setting& one : settings)
      grid.push_back({one.label, seq_len, batch, one.variables, one.flags});
  }
  return grid;
}

}  // namespace

std::vector<Asked> matrix_grid(const std::vector<std::int64_t>& seq_lens, std::int64_t batch) {
  return crossed(seq_lens, batch,
                 {{"adaptive", {{"NSA_USE_SEL_VARLEN", "1"}}, {}},
                  {"v1", {{"NSA_USE_SEL_VARLEN", "1"}, {"NSA_SEL_RANGES_V2", "0"}}, {}},
                  {"v2", {{"NSA_USE_SEL_VARLEN", "1"}, {"NSA_SEL_RANGES_V2", "1"}}, {}}});
}

std::vector<Asked> matrix_grid(const std::vector<std::int64_t>& seq_lens,
                               const std::vector<std::int64_t>& batches) {
  std::vector<Asked> grid;
  for (const std::int64_t batch : batches) {
    for (Asked& asked : matrix_grid(seq_lens, batch)) grid.push_back(std::move(asked));
  }
  return grid;
}

std::vector<Asked> path_grid(const std::vector<std::int64_t>& seq_lens, std::int64_t batch) {
  return crossed(seq_lens, batch,
                 {{"tuned", {}, {}},
                  {"masked", {{"NSA_FORCE_SEL_MASK", "1"}}, {}},
                  {"packed", {{"NSA_USE_SEL_PACK", "1"}}, {}},
                  {"varlen", {{"NSA_USE_SEL_VARLEN", "1"}, {"NSA_SEL_VARLEN_V2", "1"}}, {}},
                  {"ranges", {{"NSA_USE_SEL_PACK", "0"}}, {}}});
}

std::vector<Asked> ablation_grid(const std::vector<std::int64_t>& seq_lens, std::int64_t batch,
                                 std::int64_t layers) {
  std::vector<Setting> settings{{"all branches", {}, {}},
                                {"compressed only", {}, {"--branches", "cmp"}},
                                {"selected only", {}, {"--branches", "sel"}},
                                {"window only", {}, {"--branches", "win"}},
                                {"no selected branch", {}, {"--branches", "cmp,win"}},
                                {"dense attention", {}, {"--attention", "dense"}},
                                {"sequential prefill", {{"NSA_PREFILL_BATCHED", "0"}}, {}}};
  if (layers >= 4)
    settings.push_back({"half the layers", {}, {"--layers", std::to_string(layers / 2)}});
  if (layers >= 2) settings.push_back({"1 layer", {}, {"--layers", "1"}});
  return crossed(seq_lens, batch, settings);
}

std::vector<Asked> batch_grid(std::int64_t seq_len, const std::vector<std::int64_t>& batches,
                              const std::vector<std::int64_t>& kv_heads) {
  std::vector<Asked> grid;
  for (const std::int64_t batch : batches)
    grid.push_back({"batch " + std::to_string(batch), seq_len, batch, {}, {}});
  for (const std::int64_t heads : kv_heads) {
    const std::string text = std::to_string(heads);
    grid.push_back({text + " KV heads", seq_len, batches.front(), {}, {"--kv-heads", text}});
  }
  return grid;
}

std::vector<Asked> checkpoint_grid(std::int64_t seq_len, const std::vector<std::int64_t>& batches) {
  std::vector<Asked> grid;
  for (const std::int64_t batch : batches) {
    for (Asked& asked :
         crossed({seq_len}, batch,
                 {{"all kept", {}, {}}, {"checkpointed", {}, {"--checkpoint", "all"}}}))
      grid.push_back(std::move(asked));
  }
  return grid;
}

std::vector<Asked> training_switch_grid(const std::vector<std::int64_t>& seq_lens,
                                        std::int64_t batch, bool halves, bool graphs) {
  std::vector<Setting> settings{
      {"defaults", {}, {}},
      {"FlashAttention-2 off", {{"NSA_USE_FA2", "0"}}, {}},
      {"masked", {{"NSA_FORCE_SEL_MASK", "1"}}, {}},
      {"packed", {{"NSA_USE_SEL_PACK", "1"}}, {}},
      {"varlen", {{"NSA_USE_SEL_VARLEN", "1"}, {"NSA_SEL_VARLEN_V2", "1"}}, {}},
      {"checkpointed", {}, {"--checkpoint", "all"}},
      {"nondeterministic", {}, {"--nondeterministic"}},
      {"built-in order", {}, {"--no-thresholds"}},
      {"dense attention", {}, {"--attention", "dense"}}};
  if (halves) settings.push_back({"no masters", {}, {"--no-masters"}});
  if (graphs) {
    settings.push_back({"dense attention, cuDNN", {}, {"--attention", "dense_sdpa"}});
    settings.push_back({"graph", {}, {"--graph"}});
  }
  return crossed(seq_lens, batch, settings);
}

std::vector<Asked> ladder_grid(const std::vector<std::int64_t>& seq_lens, std::int64_t batch) {
  std::vector<Asked> grid;
  for (const std::int64_t seq_len : seq_lens) {
    Variables variables;
    Flags flags{"--no-thresholds"};
    for (const LadderStep& step : ladder()) {
      for (const auto& [name, value] : step.sets) {
        std::erase_if(variables, [&](const auto& entry) { return entry.first == name; });
        if (!value.empty()) variables.emplace_back(name, value);
      }
      if (step.tuned) flags.clear();
      grid.push_back({step.name, seq_len, batch, variables, flags});
    }
  }
  return grid;
}

std::vector<Asked> switch_grid(std::int64_t seq_len, std::int64_t batch) {
  return crossed({seq_len}, batch,
                 {{"tuned", {}, {}},
                  {"v1 converter", {{"NSA_USE_SEL_VARLEN", "1"}, {"NSA_SEL_RANGES_V2", "0"}}, {}},
                  {"packed", {{"NSA_USE_SEL_PACK", "1"}}, {}},
                  {"masked", {{"NSA_FORCE_SEL_MASK", "1"}}, {}},
                  {"ranges", {{"NSA_USE_SEL_PACK", "0"}}, {}},
                  {"sequential prefill", {{"NSA_PREFILL_BATCHED", "0"}}, {}}});
}

}  // namespace nsa::run_tables
