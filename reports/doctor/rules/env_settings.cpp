// Debugging, statistics, allocator, distributed training.
#include <fmt/format.h>

#include <array>

#include "rules.hpp"
#include "words.hpp"

namespace nsa::doctor {
namespace {

/// One finding for each environment in which some of the switches are on.
template <std::size_t N>
Founds switched(const RunEvidence& evidence, const std::array<const char*, N>& names, bool value,
                const std::string& message) {
  Founds founds;
  for (const EnvironmentEvidence& env : evidence.environments) {
    std::vector<Fact> facts;
    for (const char* name : names)
      if (env.boolean(name) == std::optional(value)) facts.push_back(fact_of(env, name));
    if (!facts.empty())
      founds.push_back({message, std::move(facts), unknown_gain(std::string(kSettingGain))});
  }
  return founds;
}

}  // namespace

Founds launch_blocking(const RunEvidence& evidence) {
  return switched(evidence, std::array{"CUDA_LAUNCH_BLOCKING"}, true,
                  "every launch waits for its kernel");
}

Founds debug_switches(const RunEvidence& evidence) {
  return switched(
      evidence,
      std::array{"NSA_STRICT_ASSERTS", "NSA_DEBUG_LOG", "NSA_DEBUG_TIMING", "NSA_DEBUG_SHAPES",
                 "NSA_DEBUG_COMPARE", "NSA_SDPA_AUDIT", "NSA_FA2_AUDIT", "NSA_VERIFY_EQ9_MAPPING",
                 "NSA_VALIDATE_SELECTION_DETERMINISM", "NSA_DETECT_ANOMALY", "NSA_TRACE_GRADS",
                 "NSA_TRACE_MODULE_BWD", "NSA_TRACE_DDP_BUCKETS", "NSA_DEBUG_LOSS"},
      true, "checks and logs for debugging run in every step; some wait for the GPU");
}

Founds aux_statistics(const RunEvidence& evidence) {
  Founds founds;
  for (const EnvironmentEvidence& env : evidence.environments) {
    const bool silent = !env.find("NSA_DISABLE_AUX_STATS");
    if (env.boolean("NSA_DISABLE_AUX_STATS").value_or(false) || (silent && !env.launch)) continue;
    founds.push_back({"statistics of gates and selection are read back at the end of every step",
                      {fact_of(env, "NSA_DISABLE_AUX_STATS")},
                      unknown_gain(std::string(kSettingGain))});
  }
  return founds;
}

Founds allocator(const RunEvidence& evidence) {
  Founds founds;
  for (const EnvironmentEvidence& env : evidence.environments) {
    const bool renamed = env.find("PYTORCH_ALLOC_CONF") != nullptr;
    const char* name = renamed ? "PYTORCH_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF";
    const Setting* setting = env.find(name);
    if (!setting && !env.launch) continue;
    if (setting && setting->value.find("expandable_segments:True") != std::string::npos) continue;
    founds.push_back({"the allocator may fragment: segments cannot grow",
                      {fact_of(env, name)},
                      unknown_gain("memory, not time")});
  }
  return founds;
}

Founds distributed(const RunEvidence& evidence) {
  Founds founds;
  for (const EnvironmentEvidence& env : evidence.environments) {
    std::vector<Fact> facts;
    if (env.boolean("NSA_DDP_FIND_UNUSED").value_or(false))
      facts.push_back(fact_of(env, "NSA_DDP_FIND_UNUSED"));
    if (env.boolean("NSA_DDP_STATIC_GRAPH") == std::optional(false))
      facts.push_back(fact_of(env, "NSA_DDP_STATIC_GRAPH"));
    const auto bucket = env.integer("NSA_DDP_BUCKET_MB");
    if (bucket && *bucket > 0 && *bucket < 25) facts.push_back(fact_of(env, "NSA_DDP_BUCKET_MB"));
    if (!facts.empty())
      founds.push_back(
          {"gradients are exchanged with settings that prevent overlap with computation",
           std::move(facts),
           unknown_gain("at most the exposed communication: `doctor` on a trace has "
                        "it")});
  }
  return founds;
}

Founds checkpointing_switch(const RunEvidence& evidence) {
  Founds founds;
  for (const EnvironmentEvidence& env : evidence.environments) {
    if (!env.find("NSA_GC_RANGE") || env.boolean("NSA_NO_GC").value_or(false)) continue;
    founds.push_back({"layers are computed a second time in the backward pass",
                      {fact_of(env, "NSA_GC_RANGE")},
                      unknown_gain(std::string(kSettingGain))});
  }
  return founds;
}

Founds flash_switched_off(const RunEvidence& evidence) {
  return switched(
      evidence, std::array{"NSA_SDPA_NO_FLASH"}, true,
      "SDPA may not use its flash back end, so it uses the memory-efficient one or math");
}

Founds library_switches(const RunEvidence& evidence) {
  return switched(evidence,
                  std::array{"TORCH_CUDNN_V8_API_ENABLED", "NVIDIA_TF32_OVERRIDE",
                             "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"},
                  false, "a faster path of cuDNN or cuBLAS is switched off");
}

Founds triton_out_of_reach(const RunEvidence& evidence) {
  Founds founds;
  for (const EnvironmentEvidence& env : evidence.environments) {
    if (!env.boolean("NSA_USE_TRITON_SEL").value_or(false)) continue;
    const ConfigEvidence none;
    const ConfigEvidence& config = evidence.configs.empty() ? none : evidence.configs.front();
    const std::int64_t longest =
        config.integer("nsa.n_sel").value_or(16) * config.integer("nsa.l_sel").value_or(64);
    const std::int64_t least = env.integer("NSA_SEL_TRITON_MIN_L").value_or(4096);
    if (least <= longest) continue;
    founds.push_back(
        {fmt::format("Triton is to run from {} tokens per row on, but a row has at most "
                     "{} (n_sel * l_sel): it never runs",
                     least, longest),
         {fact_of(env, "NSA_USE_TRITON_SEL"), fact_of(env, "NSA_SEL_TRITON_MIN_L")},
         unknown_gain(std::string(kSettingGain))});
  }
  return founds;
}

}  // namespace nsa::doctor
