#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "data_sheet.hpp"
#include "nsa/kernels/documents.hpp"
#include "nsa/schemas/median.hpp"

namespace nsa::cli {
namespace {

/// 0 where training ended before its first step did.
std::int64_t median_step_ns(const RunReport& r) {
  return r.times.step_ns.empty() ? 0 : median(r.times.step_ns);
}

double per_second(double of_step, const RunReport& r) {
  const std::int64_t ns = median_step_ns(r);
  return ns > 0 ? of_step / (static_cast<double>(ns) * 1e-9) : 0;
}

double tokens_per_s(const RunReport& r) {
  return per_second(static_cast<double>(r.times.tokens_per_step), r);
}

double flop_per_s(const RunReport& r) { return per_second(r.times.flop_per_step, r); }

double decode_tokens_per_s(const RunReport& r) {
  return static_cast<double>(r.plan.batch) /
         (static_cast<double>(r.times.decode_flowing_ns) * 1e-9);
}

/// Counters as rows; with the direction where there are two.
Json counts_json(const std::map<std::pair<std::string, std::string>, std::int64_t>& forward,
                 const std::map<std::pair<std::string, std::string>, std::int64_t>& backward,
                 const char* what) {
  Json rows = Json::array();
  for (const auto& [key, calls] : forward)
    rows.push_back({{"stage", key.first}, {what, key.second}, {"calls", calls}});
  for (const auto& [key, calls] : backward)
    rows.push_back({{"stage", key.first},
                    {what, key.second},
                    {"calls", calls},
                    {"direction", to_string(Direction::backward)}});
  return rows;
}

Json model_json(const RunPlan& plan, const std::vector<std::string>& branches) {
  const ModelConfig& c = plan.config;
  return {{"name", c.name},
          {"branches", branches.empty() ? std::vector<std::string>{"cmp", "sel", "win"} : branches},
          {"layer_only", plan.layer},
          {"attention", c.attention == AttentionKind::dense ? "dense" : "nsa"},
          {"parameters", parameter_count(c)},
          {"model_dim", c.model_dim},
          {"layers", c.layers},
          {"q_heads", c.q_heads},
          {"kv_heads", c.kv_heads},
          {"head_dim_k", c.head_dim_k},
          {"head_dim_v", c.head_dim_v},
          {"cmp_block", c.geometry.cmp_block},
          {"cmp_stride", c.geometry.cmp_stride},
          {"sel_block", c.geometry.sel_block},
          {"sel_count", c.geometry.sel_count},
          {"window", c.geometry.window},
          {"dtype", to_string(c.dtype)}};
}

/// What the file said, by its hash: it may be written again. Null: none.
Json hash_of_file(const std::string& path) {
  if (path.empty()) return nullptr;
  return hash_hex(read_text_file(path));
}

Json memory_json(const RunMemory& memory) {
  Json document{{"weights_bytes", memory.weights},
                {"cache_bytes", memory.cache},
                {"workspace_peak_bytes", memory.workspace_peak}};
  if (memory.device_used) document["device_used_bytes"] = *memory.device_used;
  return document;
}

Json decode_json(const RunReport& r) {
  return {{"steps", r.times.decode_ns.size()},
          {"median_step_ns", median(r.times.decode_ns)},
          {"flowing_step_ns", r.times.decode_flowing_ns},
          {"tokens_per_s", decode_tokens_per_s(r)},
          {"bytes_per_step", r.times.decode_bytes},
          {"graph", r.options.graph},
          {"grow_events", r.times.decode_grow_events}};
}

}  // namespace

std::string command_line(const RunOptions& o, const RunPlan& plan) {
  std::string text = "nsatune run";
  text += o.config ? " --config " + *o.config : " --preset " + o.preset;
  if (o.ignore_unknown) text += " --ignore-unknown";
  text += fmt::format(" --seq-len {} --batch {} --layers {} --dtype {}", plan.seq_len, plan.batch,
                      plan.config.layers, to_string(plan.config.dtype));
  if (o.kv_heads) text += fmt::format(" --kv-heads {}", *o.kv_heads);
  if (plan.config.attention == AttentionKind::dense) text += " --attention " + o.attention;
  if (!o.branches.empty()) text += fmt::format(" --branches {}", fmt::join(o.branches, ","));
  if (plan.decode > 0) text += fmt::format(" --decode {}", plan.decode);
  if (o.graph) text += " --graph";
  if (o.thresholds) text += " --thresholds " + *o.thresholds;
  if (o.no_thresholds) text += " --no-thresholds";
  text += train_flags(o.train);
  if (o.train.on) return text + fmt::format(" --steps {} --seed {}", o.steps, o.seed);
  return text + fmt::format(" --warmup {} --steps {} --seed {}", o.warmup, o.steps, o.seed);
}

RunMemory held_memory(const RunPlan& plan) {
  const ModelConfig& c = plan.config;
  RunMemory memory;
  memory.weights = parameter_count(c) * static_cast<std::int64_t>(size_of(c.dtype));
  if (plan.decode > 0) memory.cache = cache_bytes(c, plan.batch, decode_capacity(plan));
  return memory;
}

std::int64_t cache_bytes(const ModelConfig& config, std::int64_t batch, std::int64_t capacity) {
  /// Gives nothing, and counts what it was asked for.
  struct Counter final : Allocator {
    void* allocate(std::size_t bytes) override {
      asked += static_cast<std::int64_t>(bytes);
      return nullptr;
    }
    void deallocate(void*, std::size_t) noexcept override {}
    std::int64_t asked = 0;
  } counter;
  (void)make_caches(config, batch, capacity, counter);
  return counter.asked;
}

bool ended_early(const Json& result) { return result.contains("/training/stopped"_json_pointer); }

Json run_json(const RunReport& r) {
  Json steps = Json::array();
  for (const std::int64_t ns : r.times.step_ns) steps.push_back(ns);
  Json variables = Json::object();
  for (const auto& [name, value] : r.variables) variables[name] = value;
  Json document{{"run_id", r.run_id},
                {"version", r.version},
                {"date", r.date},
                {"variables", variables},
                {"command", r.command},
                {"device", r.device},
                {"model", model_json(r.plan, r.options.branches)},
                {"seq_len", r.plan.seq_len},
                {"batch", r.plan.batch},
                {"direction", r.training ? "training" : "forward"},
                {"token_definition", r.training ? "new tokens of all sequences per step: forward, "
                                                  "backward and optimizer"
                                                : "new tokens of all sequences per forward pass"},
                {"tokens_per_step", r.times.tokens_per_step},
                {"tokens_per_s", tokens_per_s(r)},
                {"median_step_ns", median_step_ns(r)},
                {"first_call_ns", r.times.first_call_ns},
                {"step_ns", steps},
                {"flop_per_step", r.times.flop_per_step},
                {"flop_per_s", flop_per_s(r)},
                {"peak_flop_per_s", r.peak_flop_per_s},
                {"peak_name", r.peak_name},
                {"peak_definition", r.peak_definition},
                {"share_of_peak", flop_per_s(r) / r.peak_flop_per_s},
                {"thresholds",
                 r.explanation.table_path.empty() ? Json(nullptr) : Json(r.explanation.table_path)},
                {"thresholds_hash", hash_of_file(r.explanation.table_path)},
                {"engaged", counts_json(r.telemetry.engaged, r.backward.engaged, "variant")},
                {"fallback", counts_json(r.telemetry.fallback, r.backward.fallback, "reason")},
                {"slow_path_calls", r.telemetry.slow_path_calls + r.backward.slow_path_calls},
                {"memory", memory_json(r.memory)}};
  if (r.predicted && r.plan.decode == 0) {  // a decode loop has a cache, too
    document["peak_bytes"] = r.memory.weights + r.memory.workspace_peak + r.predicted->inputs;
    document["memory"]["predicted_bytes"] = r.predicted->peak();
  }
  if (r.training) {
    document["losses"] = losses_json(*r.training);
    document["peak_bytes"] = r.training->measured.peak();
    document["training"] = train_json(*r.training);
  }
  if (!r.options.no_telemetry) document["telemetry"] = telemetry_to_json(r.telemetry);
  if (r.proof) document["proof"] = *r.proof;
  if (const auto sheet = data_sheet_flop_per_s(r.device, r.plan.config.dtype)) {
    document["data_sheet_flop_per_s"] = *sheet;
    document["mfu"] = flop_per_s(r) / *sheet;
  }
  if (!r.times.decode_ns.empty()) document["decode"] = decode_json(r);
  return document;
}

}  // namespace nsa::cli
