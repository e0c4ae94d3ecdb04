#include "run_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nsa/schemas/median.hpp"

namespace nsa::cli {
namespace {

double milliseconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-6; }

double tokens_per_s(const RunReport& r) {
  return static_cast<double>(r.times.tokens_per_step) /
         (static_cast<double>(median(r.times.step_ns)) * 1e-9);
}

double flop_per_s(const RunReport& r) {
  return r.times.flop_per_step / (static_cast<double>(median(r.times.step_ns)) * 1e-9);
}

double decode_tokens_per_s(const RunReport& r) {
  return static_cast<double>(r.plan.batch) /
         (static_cast<double>(r.times.decode_flowing_ns) * 1e-9);
}

Json engaged_json(const TelemetryReport& telemetry) {
  Json engaged = Json::array();
  for (const auto& [key, calls] : telemetry.engaged) {
    engaged.push_back({{"stage", key.first}, {"variant", key.second}, {"calls", calls}});
  }
  return engaged;
}

Json fallback_json(const TelemetryReport& telemetry) {
  Json fallback = Json::array();
  for (const auto& [key, calls] : telemetry.fallback) {
    fallback.push_back({{"stage", key.first}, {"reason", key.second}, {"calls", calls}});
  }
  return fallback;
}

Json model_json(const RunPlan& plan) {
  const ModelConfig& c = plan.config;
  return {{"name", c.name},
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

std::string thresholds_text(const RunReport& r) {
  if (r.options.no_thresholds) return "none (built-in defaults)";
  return r.explanation.table_path.empty() ? "none found (built-in defaults)"
                                          : r.explanation.table_path;
}

}  // namespace

std::string command_line(const RunOptions& o, const RunPlan& plan) {
  std::string text = "nsatune run";
  text += o.config ? " --config " + *o.config : " --preset " + o.preset;
  text += fmt::format(" --seq-len {} --batch {} --layers {} --dtype {}", plan.seq_len, plan.batch,
                      plan.config.layers, to_string(plan.config.dtype));
  if (plan.config.attention == AttentionKind::dense) text += " --attention dense";
  if (!o.branches.empty()) text += fmt::format(" --branches {}", fmt::join(o.branches, ","));
  if (plan.decode > 0) text += fmt::format(" --decode {}", plan.decode);
  if (o.graph) text += " --graph";
  if (o.thresholds) text += " --thresholds " + *o.thresholds;
  if (o.no_thresholds) text += " --no-thresholds";
  return text + fmt::format(" --warmup {} --steps {} --seed {}", o.warmup, o.steps, o.seed);
}

Json run_json(const RunReport& r) {
  Json steps = Json::array();
  for (const std::int64_t ns : r.times.step_ns) steps.push_back(ns);
  Json document{{"command", r.command},
                {"device", r.device},
                {"model", model_json(r.plan)},
                {"seq_len", r.plan.seq_len},
                {"batch", r.plan.batch},
                {"direction", "forward"},
                {"token_definition", "new tokens of all sequences per forward pass"},
                {"tokens_per_step", r.times.tokens_per_step},
                {"tokens_per_s", tokens_per_s(r)},
                {"median_step_ns", median(r.times.step_ns)},
                {"first_call_ns", r.times.first_call_ns},
                {"step_ns", steps},
                {"flop_per_step", r.times.flop_per_step},
                {"flop_per_s", flop_per_s(r)},
                {"peak_flop_per_s", r.peak_flop_per_s},
                {"peak_definition", r.peak_definition},
                {"share_of_peak", flop_per_s(r) / r.peak_flop_per_s},
                {"thresholds",
                 r.explanation.table_path.empty() ? Json(nullptr) : Json(r.explanation.table_path)},
                {"engaged", engaged_json(r.telemetry)},
                {"fallback", fallback_json(r.telemetry)},
                {"slow_path_calls", r.telemetry.slow_path_calls},
                {"telemetry", telemetry_to_json(r.telemetry)}};
  if (!r.times.decode_ns.empty()) {
    document["decode"] = {{"steps", r.times.decode_ns.size()},
                          {"median_step_ns", median(r.times.decode_ns)},
                          {"flowing_step_ns", r.times.decode_flowing_ns},
                          {"tokens_per_s", decode_tokens_per_s(r)},
                          {"bytes_per_step", r.times.decode_bytes},
                          {"graph", r.options.graph},
                          {"grow_events", r.times.decode_grow_events}};
  }
  return document;
}

std::string run_text(const RunReport& r) {
  std::string text = fmt::format("{} on {} ({})\n", r.plan.config.name, r.device.id, r.device.name);
  text +=
      fmt::format("  {} layers, {:.1f} M parameters, {} attention, {}, S {} x B {}\n",
                  r.plan.config.layers, static_cast<double>(parameter_count(r.plan.config)) * 1e-6,
                  r.plan.config.attention == AttentionKind::dense ? "dense" : "NSA",
                  to_string(r.plan.config.dtype), r.plan.seq_len, r.plan.batch);
  text += fmt::format("  thresholds: {}\n", thresholds_text(r));
  text +=
      fmt::format("  first call {:.1f} ms, then {:.4g} ms a step (median of {}): {:.0f} tok/s\n",
                  milliseconds(r.times.first_call_ns), milliseconds(median(r.times.step_ns)),
                  r.times.step_ns.size(), tokens_per_s(r));
  text +=
      fmt::format("  {:.1f} GFLOP/s, {:.0f} % of {} ({:.0f} GFLOP/s)\n", flop_per_s(r) * 1e-9,
                  100 * flop_per_s(r) / r.peak_flop_per_s, r.peak_name, r.peak_flop_per_s * 1e-9);
  if (!r.times.decode_ns.empty()) {
    const double flowing_ms = milliseconds(r.times.decode_flowing_ns);
    text += fmt::format(
        "  decode after {} tokens{}: {:.4g} ms a step ({:.0f} tok/s), {:.4g} ms where each is "
        "waited "
        "for (median of {})\n",
        r.plan.seq_len, r.options.graph ? " (graph)" : "", flowing_ms, decode_tokens_per_s(r),
        milliseconds(median(r.times.decode_ns)), r.times.decode_ns.size());
    text +=
        fmt::format("    a step reads {:.1f} MB of weights, K and V: {:.0f} GB/s; {} grow events\n",
                    r.times.decode_bytes * 1e-6, r.times.decode_bytes * 1e-6 / flowing_ms,
                    r.times.decode_grow_events);
  }
  if (r.options.no_telemetry) return text;
  text += "  what ran:\n";
  std::size_t widest = 18;  // of one stage; a row over several is wider
  for (const auto& [key, calls] : r.telemetry.engaged) widest = std::max(widest, key.first.size());
  for (const auto& [key, calls] : r.telemetry.engaged) {
    text += fmt::format("    {:<{}} {:<18} {} calls\n", key.first, widest, key.second, calls);
  }
  for (const auto& [key, calls] : r.telemetry.fallback) {
    text += fmt::format("    fallback in {}: {} ({} calls)\n", key.first, key.second, calls);
  }
  if (r.telemetry.slow_path_calls > 0) {
    text += fmt::format("    SLOW PATH: {} calls\n", r.telemetry.slow_path_calls);
  }
  text += fmt::format(
      "  reads per query: {} of {} predicted; workspace peak {:.1f} MB, {} grow events\n",
      r.telemetry.reads_act, r.telemetry.reads_pred,
      static_cast<double>(r.telemetry.peak_workspace_bytes) * 1e-6, r.telemetry.grow_events);
  return text;
}

}  // namespace nsa::cli
