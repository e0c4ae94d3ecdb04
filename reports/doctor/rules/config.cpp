// Training configs.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "nsa/schemas/problem.hpp"
#include "rules.hpp"
#include "words.hpp"

namespace nsa::doctor {
namespace {

/// Whether some environment switches FA-2 on.
bool fa2_switched_on(const RunEvidence& evidence) {
  for (const EnvironmentEvidence& env : evidence.environments)
    for (const char* name : {"NSA_USE_FA2", "NSA_USE_FA2_WIN", "NSA_USE_FA2_CMP"})
      if (env.boolean(name).value_or(false)) return true;
  return false;
}

Geometry geometry_of(const ConfigEvidence& config) {
  Geometry g;
  g.cmp_block = std::max<std::int64_t>(config.integer("nsa.l").value_or(g.cmp_block), 1);
  g.cmp_stride = std::max<std::int64_t>(config.integer("nsa.d").value_or(g.cmp_stride), 1);
  g.window = config.integer("nsa.w").value_or(g.window);
  return g;
}

/// Why FA-2 cannot run although something in the config asks for it; empty = it may.
std::vector<std::string> fa2_obstacles(const RunEvidence& evidence, const ConfigEvidence& config) {
  std::vector<std::string> why;
  const bool enabled = config.boolean("runtime.fa2_enabled").value_or(false);
  if (!enabled && !fa2_switched_on(evidence))
    why.push_back("no code reads use_flash; FA-2 follows NSA_USE_FA2 and runtime.fa2_enabled");
  const std::int64_t dim_k = config.integer("model.d_k").value_or(64);
  const std::int64_t dim_v = config.integer("model.d_v").value_or(64);
  if (dim_k != dim_v)
    why.push_back(fmt::format("FA-2 needs d_k = d_v, and they are {} and {}", dim_k, dim_v));
  const Geometry g = geometry_of(config);
  const std::int64_t length =
      std::clamp<std::int64_t>(config.integer("train.seq_len").value_or(2048), 1, 1 << 30);
  const auto out_of_reach = [&](const char* key, std::int64_t most, const char* unit) {
    const auto least = config.integer(key);
    if (!least) return;
    if (*least <= 0) why.push_back(fmt::format("{} is {}, which means never", key, *least));
    if (*least > most)
      why.push_back(fmt::format("{} is {}, but there are at most {} {}", key, *least, most, unit));
  };
  out_of_reach("runtime.fa2_min_len_win", std::min(length, g.window), "tokens in a window");
  out_of_reach("runtime.fa2_min_len_cmp", num_compressed(length, g), "compressed tokens");
  return why;
}

std::int64_t accumulated(const ConfigEvidence& config) {
  return std::max<std::int64_t>(config.integer("train.accumulate_grad_batches").value_or(1), 1);
}

}  // namespace

Founds config_checkpointing(const RunEvidence& evidence) {
  Founds founds;
  for (const ConfigEvidence& config : evidence.configs) {
    if (!config.boolean("runtime.gradient_checkpointing").value_or(false)) continue;
    founds.push_back({"every layer is computed a second time in the backward pass",
                      {fact_of(config, "runtime.gradient_checkpointing")},
                      unknown_gain("users report 3-4 times (004:37); a second forward pass is a "
                                   "third of a step that nothing else limits")});
  }
  return founds;
}

Founds config_precision(const RunEvidence& evidence) {
  constexpr std::array kFull{"fp32", "float32", "32", "32-true",
                             "fp64", "float64", "64", "64-true"};
  Founds founds;
  for (const ConfigEvidence& config : evidence.configs) {
    for (const char* key : {"runtime.precision", "trainer.precision"}) {
      const Setting* precision = config.find(key);
      if (!precision || std::find(kFull.begin(), kFull.end(), precision->value) == kFull.end())
        continue;
      founds.push_back({"the 16-bit tensor cores are not used",
                        {fact_of(config, key)},
                        unknown_gain(std::string(kSettingGain))});
    }
  }
  return founds;
}

Founds config_batch_small(const RunEvidence& evidence) {
  Founds founds;
  for (const ConfigEvidence& config : evidence.configs) {
    const auto batch = config.integer("train.batch_size");
    if (!batch || *batch != 1 || accumulated(config) > 1) continue;
    founds.push_back(
        {"one sequence per step and no accumulation: each sequence pays for an optimizer "
         "step and an exchange of gradients of its own",
         {fact_of(config, "train.batch_size"), fact_of(config, "train.accumulate_grad_batches")},
         unknown_gain(std::string(kSettingGain))});
  }
  return founds;
}

Founds config_batch_large(const RunEvidence& evidence) {
  Founds founds;
  for (const ConfigEvidence& config : evidence.configs) {
    const auto batch = config.integer("train.batch_size");
    const auto length = config.integer("train.seq_len");
    if (!batch || !length || *batch < 4 || *length < 2048) continue;
    founds.push_back({"without NVLink, large batches lost throughput and ran out of memory",
                      {fact_of(config, "train.batch_size"), fact_of(config, "train.seq_len")},
                      unknown_gain("users lost 15 % from 2 to 4 sequences on 2 A100 PCIe; not "
                                   "measured here")});
  }
  return founds;
}

Founds config_fa2_believed(const RunEvidence& evidence) {
  Founds founds;
  for (const ConfigEvidence& config : evidence.configs) {
    const bool flash = config.boolean("runtime.use_flash").value_or(false);
    const bool enabled = config.boolean("runtime.fa2_enabled").value_or(false);
    if (!flash && !enabled) continue;
    const std::vector<std::string> why = fa2_obstacles(evidence, config);
    if (why.empty()) continue;
    std::string message = "FA-2 looks enabled but does not run: ";
    for (const std::string& reason : why) message += (&reason == &why[0] ? "" : "; ") + reason;
    founds.push_back(
        {message,
         {fact_of(config, enabled ? "runtime.fa2_enabled" : "runtime.use_flash")},
         unknown_gain("whether FA-2 would be faster is another question: measure it")});
  }
  return founds;
}

Founds config_unread_key(const RunEvidence& evidence) {
  Founds founds;
  for (const ConfigEvidence& config : evidence.configs) {
    if (!config.boolean("runtime.use_triton_sel").value_or(false)) continue;
    founds.push_back({"no code reads this key: selection follows NSA_USE_TRITON_SEL",
                      {fact_of(config, "runtime.use_triton_sel")},
                      unknown_gain("what was intended does not happen")});
  }
  return founds;
}

}  // namespace nsa::doctor
