#include "words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nsa::doctor {

const Hits* hits_of(const LogEvidence& log, Signal signal) {
  const auto at = log.signals.find(signal);
  return at == log.signals.end() ? nullptr : &at->second;
}

std::string time_text(std::int64_t ns) {
  const double value = static_cast<double>(ns);
  if (value < 1e3) return fmt::format("{} ns", ns);
  if (value < 1e6) return fmt::format("{:.3g} us", value / 1e3);
  if (value < 1e9) return fmt::format("{:.3g} ms", value / 1e6);
  return fmt::format("{:.2f} s", value / 1e9);
}

std::string percent_text(double share) { return fmt::format("{:.3g} %", share * 100); }

std::string count_text(std::int64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3 && text[at - 4] != '-'; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

std::string gib_text(double bytes) { return fmt::format("{:.3g} GiB", bytes / 1073741824.0); }

Fact fact_of(const EnvironmentEvidence& environment, std::string_view name) {
  Fact fact{.source = environment.source, .variable = std::string(name)};
  if (const Setting* setting = environment.find(name)) {
    fact.what = fmt::format("{}={}", name, setting->value);
    fact.value = setting->value;
    fact.line = setting->line;
  } else {
    fact.what = fmt::format("{} is not set", name);
  }
  return fact;
}

Fact fact_of(const ConfigEvidence& config, std::string_view key) {
  Fact fact{.source = config.file, .variable = std::string(key)};
  if (const Setting* setting = config.find(key)) {
    fact.what = fmt::format("{}: {}", key, setting->value);
    fact.value = setting->value;
    fact.line = setting->line;
  } else {
    fact.what = fmt::format("{} is missing", key);
  }
  return fact;
}

Fact fact_of(const TraceEvidence& trace, const Group& group, const std::string& what) {
  return {.what = what,
          .source = trace.summary.path,
          .count = group.count,
          .ns = group.total_ns,
          .event_ids = group.ids};
}

Fact fact_of(const LogEvidence& log, const Hits& hits) {
  return {.what = hits.text, .source = log.file, .line = hits.first_line, .count = hits.count};
}

Fact fact_at(const std::string& file, std::int64_t line, std::string what) {
  return {.what = std::move(what), .source = file, .line = line};
}

std::string checkpointing_advice(const RunEvidence& evidence) {
  constexpr std::string_view kKey = "runtime.gradient_checkpointing";
  for (const ConfigEvidence& config : evidence.configs)
    if (config.boolean(kKey).value_or(false))
      return fmt::format("switch it off if memory allows ({}: false in {})", kKey, config.file);
  return {};
}

Gain unknown_gain(std::string basis) { return {.basis = std::move(basis)}; }

Gain gain_in(const TraceEvidence& trace, std::int64_t ns, std::string basis) {
  const std::int64_t span = trace.summary.gpu ? trace.summary.gpu->span_ns : ns;
  return {.at_most_ns = std::clamp<std::int64_t>(ns, 0, span),
          .of_ns = span,
          .basis = std::move(basis)};
}

std::string of_all_gpus(const TraceEvidence& trace) {
  return trace.summary.devices.size() > 1 ? ", of all GPUs together" : "";
}

Gain gain_of_work(const TraceEvidence& trace, std::int64_t ns, std::string basis) {
  const std::int64_t all = trace.summary.gpu ? trace.summary.gpu->device_ns() : ns;
  basis += of_all_gpus(trace);
  return {
      .at_most_ns = std::clamp<std::int64_t>(ns, 0, all), .of_ns = all, .basis = std::move(basis)};
}

}  // namespace nsa::doctor
