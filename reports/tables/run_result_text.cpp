#include "nsa/reports/run_result_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "nsa/reports/kernel_proof.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/reports/units.hpp"
#include "nsa/schemas/text.hpp"

namespace nsa::reports {
namespace {

double number(const Json& object, const char* key) { return object.at(key).get<double>(); }
std::string text(const Json& object, const char* key) {
  return printable(object.at(key).get<std::string>());
}

/// The same where a variable is called text.
std::string word_of(const Json& object, const char* key) { return text(object, key); }

std::string thresholds_text(const Json& result) {
  return result.at("thresholds").is_null() ? "none (built-in defaults)"
                                           : text(result, "thresholds");
}

/// The NSA_* variables that overrule the thresholds; nothing where none is set.
std::string variables_text(const Json& r) {
  std::string names;
  if (const auto at = r.find("variables"); at != r.end())
    for (const auto& [name, value] : at->items())
      if (name.starts_with("NSA_") && value.is_string())
        names += ' ' + name + '=' + value.get<std::string>();
  return names.empty() ? "" : "  environment:" + printable(names) + "\n";
}

/// ", branches cmp and win alone" where some were left out.
std::string branches_text(const Json& model) {
  const auto at = model.find("branches");
  if (at == model.end() || at->size() >= 3 || model.at("attention") != "nsa") return "";
  std::string names;
  for (const Json& name : *at) names += (names.empty() ? "" : "+") + name.get<std::string>();
  return ", branches " + printable(names) + " only";
}

std::string model_text(const Json& r) {
  const Json& model = r.at("model");
  return fmt::format(
      "{} on {} ({})\n  {} layer{}, {:.1f} M parameters, {} attention{}, {}, S {} x B {}\n"
      "  thresholds: {}\n{}",
      text(model, "name"), text(r.at("device"), "id"), text(r.at("device"), "name"),
      model.at("layers").get<std::int64_t>(), model.at("layers") == 1 ? "" : "s",
      number(model, "parameters") * 1e-6,
      model.at("attention") == "nsa" ? "NSA" : text(model, "attention"), branches_text(model),
      text(model, "dtype"), r.at("seq_len").get<std::int64_t>(), r.at("batch").get<std::int64_t>(),
      thresholds_text(r), variables_text(r));
}

/// A share of more than the peak is the work of caches, or of a clock that was lower when the peak
/// was measured: no share that a reader could use.
std::string share_text(const Json& r) {
  const double rate = number(r, "flop_per_s"), peak = number(r, "peak_flop_per_s");
  const std::string name = r.contains("peak_name") ? text(r, "peak_name") : "the matrix rate";
  if (rate > peak)
    return fmt::format(
        "above {} ({} when it was measured beside this run: the machine was slower then)", name,
        format_flop_per_s(peak));
  return fmt::format("{:.0f} % of {} ({})", 100 * rate / peak, name, format_flop_per_s(peak));
}

/// What others call MFU, beside the share of what this device was seen to do.
std::string mfu_text(const Json& r) {
  if (!r.contains("mfu")) return "";
  return fmt::format("  MFU {:.1f} % of the data sheet's {}\n", 100 * number(r, "mfu"),
                     format_flop_per_s(number(r, "data_sheet_flop_per_s")));
}

std::string speed_text(const Json& r) {
  if (r.at("step_ns").empty()) return "";
  const bool training = r.contains("training");
  std::string speed =
      fmt::format("  {}: first {} {}, then {} a step (median of {}), {:.0f} tok/s\n",
                  training ? "training" : "forward only", training ? "step" : "call",
                  format_ns(number(r, "first_call_ns")), format_ns(number(r, "median_step_ns")),
                  r.at("step_ns").size(), number(r, "tokens_per_s"));
  if (!r.contains("peak_flop_per_s")) return speed;
  return speed +
         fmt::format("  {}, {}\n", format_flop_per_s(number(r, "flop_per_s")), share_text(r)) +
         mfu_text(r);
}

std::string loss_text(const Json& losses, std::size_t i) {
  return losses[i].is_null() ? "not finite" : fmt::format("{:.4f}", losses[i].get<double>());
}

/// Losses at the first step, at the last, and at powers of two between.
std::string losses_text(const Json& r) {
  const Json& losses = r.at("losses");
  const auto first = r.at("training").at("first_step").get<std::size_t>();
  std::string text;
  for (std::size_t i = 1; i < losses.size(); i *= 2)
    text += fmt::format(" {} at {},", loss_text(losses, i - 1), first + i);
  if (losses.empty()) return "  no step was done\n";
  return fmt::format("  loss:{} {} at {}\n", text, loss_text(losses, losses.size() - 1),
                     first + losses.size());
}

/// Where the time of a step goes: the parts of each phase, the largest first.
std::string times_text(const Json& t) {
  std::string text;
  for (const char* phase : {"forward", "recompute", "backward", "optimizer"}) {
    std::vector<std::pair<double, std::string>> parts;
    double sum = 0;
    for (const Json& part : t.at("times")) {
      if (part.at("phase") != phase) continue;
      parts.emplace_back(number(part, "ns"), word_of(part, "part"));
      sum += number(part, "ns");
    }
    std::sort(parts.rbegin(), parts.rend());
    std::string line;
    for (const auto& [ns, name] : parts) line += fmt::format(", {} {}", name, format_ns(ns));
    if (!parts.empty()) text += fmt::format("  {} {}: {}\n", phase, format_ns(sum), line.substr(2));
  }
  return text;
}

std::string training_text(const Json& r) {
  const auto at = r.find("training");
  if (at == r.end()) return "";
  const Json &t = *at, &parts = t.at("parts");
  const auto gb = [&](const char* name) { return number(parts, name) * 1e-9; };
  std::string text = losses_text(r) + times_text(t);
  text += fmt::format(
      "  memory: {:.3f} GB at most (predicted {:.3f}): weights {:.3f}, gradients {:.3f}, "
      "optimizer {:.3f}, activations {:.3f}, workspace {:.3f}; {} grow events\n",
      number(r, "peak_bytes") * 1e-9, number(t, "predicted_bytes") * 1e-9, gb("weights"),
      gb("gradients"), gb("optimizer"), gb("activations"), gb("workspace"),
      t.at("grow_events").get<std::int64_t>());
  if (t.contains("allocator")) {
    const Json& allocator = t.at("allocator");
    text +=
        fmt::format("  {}: {:.3f} GB allocated at most, {:.3f} GB reserved\n",
                    word_of(allocator, "name"), number(allocator, "allocated_peak_bytes") * 1e-9,
                    number(allocator, "reserved_peak_bytes") * 1e-9);
  }
  if (t.contains("stopped")) text += "  STOPPED: " + word_of(t, "stopped") + "\n";
  return text;
}

std::string forward_memory_text(const Json& r) {
  // Results of before have none.
  const Json memory = r.value("memory", Json::object());
  if (!memory.contains("predicted_bytes")) return "";
  return fmt::format(
      "  memory: {:.3f} GB at most (predicted {:.3f}): weights {:.3f}, workspace "
      "{:.3f}\n",
      number(r, "peak_bytes") * 1e-9, number(memory, "predicted_bytes") * 1e-9,
      number(memory, "weights_bytes") * 1e-9, number(memory, "workspace_peak_bytes") * 1e-9);
}

std::string decode_text(const Json& r) {
  const auto at = r.find("decode");
  if (at == r.end()) return "";
  const Json& d = *at;
  const double flowing_ns = number(d, "flowing_step_ns");
  return fmt::format(
      "  decode after {} tokens{}: {} a step ({:.0f} tok/s), {} where each is waited "
      "for (median of {})\n"
      "    a step reads {:.1f} MB of weights, K and V: {:.0f} GB/s; {} grow events\n",
      r.at("seq_len").get<std::int64_t>(), d.at("graph").get<bool>() ? " (graph)" : "",
      format_ns(flowing_ns), number(d, "tokens_per_s"), format_ns(number(d, "median_step_ns")),
      d.at("steps").get<std::int64_t>(), number(d, "bytes_per_step") * 1e-6,
      number(d, "bytes_per_step") / flowing_ns, d.at("grow_events").get<std::int64_t>());
}

std::string engaged_text(const Json& r) {
  std::string lines = "  what ran:\n";
  std::size_t widest = 18;  // of one stage; a row over several is wider
  for (const Json& one : r.at("engaged")) widest = std::max(widest, text(one, "stage").size());
  for (const Json& one : r.at("engaged"))
    lines += fmt::format("    {:<{}} {:<18} {} calls{}\n", text(one, "stage"), widest,
                         text(one, "variant"), one.at("calls").get<std::int64_t>(),
                         one.contains("direction") ? " backward" : "");
  for (const Json& one : r.at("fallback"))
    lines += fmt::format("    fallback in {}: {} ({} calls)\n", text(one, "stage"),
                         text(one, "reason"), one.at("calls").get<std::int64_t>());
  const auto telemetry = r.find("telemetry");
  if (telemetry != r.end() && telemetry->contains("unmeasured")) {
    for (const Json& one : telemetry->at("unmeasured"))
      lines +=
          fmt::format("    not measured at such lengths: {}, {} ({} calls)\n", text(one, "stage"),
                      text(one, "basis"), one.at("calls").get<std::int64_t>());
  }
  const auto slow = r.at("slow_path_calls").get<std::int64_t>();
  if (slow > 0) lines += fmt::format("    SLOW PATH: {} calls\n", slow);
  return lines;
}

/// The formula counts every selected block as full, which short sequences and the last block are
/// not.
std::string reads_text(const Json& telemetry) {
  const auto actual = telemetry.at("reads_act").get<std::int64_t>();
  const auto by_formula = telemetry.at("reads_pred").get<std::int64_t>();
  std::string text = fmt::format("the last query reads {}", counted(actual, "token"));
  if (by_formula != actual)
    text += fmt::format(" ({} if all its selected blocks existed and were full)", by_formula);
  return text;
}

std::string counters_text(const Json& r) {
  const auto at = r.find("telemetry");
  if (at == r.end()) return "";
  return engaged_text(r) +
         fmt::format("  {}; workspace peak {:.1f} MB, {}\n", reads_text(*at),
                     number(*at, "peak_workspace_bytes") * 1e-6,
                     counted(at->at("grow_events").get<std::int64_t>(), "grow event"));
}

}  // namespace

std::string run_result_text(const Json& result) {
  std::string all = model_text(result) + speed_text(result) + training_text(result) +
                    forward_memory_text(result) + decode_text(result) + counters_text(result);
  if (result.contains("proof")) all += kernel_proof_text(result.at("proof"));
  return all;
}

}  // namespace nsa::reports
