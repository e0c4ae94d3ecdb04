#include "advice.hpp"

#include <algorithm>
#include <charconv>

#include "rules/trace_parts.hpp"

namespace nsa::doctor {
namespace {

/// "NAME=value"
struct Assignment {
  explicit Assignment(std::string_view text)
      : name(text.substr(0, text.find('='))), value(text.substr(text.find('=') + 1)) {}
  std::string_view name, value;
};

/// What PyTorch calls a variable since it renamed it.
constexpr std::string_view kAllocator = "PYTORCH_CUDA_ALLOC_CONF", kNewName = "PYTORCH_ALLOC_CONF";

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return {};
  return value;
}

/// A switch that stands like that, a number of that size or more, a list with that entry.
bool is_set(const EnvironmentEvidence& environment, const Assignment& wanted) {
  const bool renamed = wanted.name == kAllocator && environment.find(kNewName);
  const std::string_view name = renamed ? kNewName : wanted.name;
  const Setting* setting = environment.find(name);
  if (!setting || !setting->known) return false;
  if (wanted.value == "0" || wanted.value == "1")
    return environment.boolean(name) == std::optional(wanted.value == "1");
  if (const auto least = number_of(wanted.value))
    return environment.integer(name).value_or(INT64_MIN) >= *least;
  return setting->value.find(wanted.value) != std::string::npos;
}

/// Those that the finding is about; all, where it is about something else.
std::vector<const EnvironmentEvidence*> environments_of(const RunEvidence& evidence,
                                                        const Found& found) {
  std::vector<const EnvironmentEvidence*> all, named;
  for (const EnvironmentEvidence& environment : evidence.environments) {
    all.push_back(&environment);
    if (std::ranges::any_of(found.facts,
                            [&](const Fact& fact) { return fact.source == environment.source; }))
      named.push_back(&environment);
  }
  return named.empty() ? all : named;
}

bool sets_nsa(const EnvironmentEvidence& environment) {
  return environment.launch || std::ranges::any_of(environment.variables, [](const auto& variable) {
           return variable.first.starts_with("NSA_");
         });
}

/// Signals that nothing but NSA's own code logs.
bool logs_nsa(const LogEvidence& log) {
  return std::ranges::any_of(log.signals, [](const auto& hits) {
    return hits.first == Signal::slow_path || hits.first == Signal::sel_path ||
           hits.first == Signal::waits || hits.first == Signal::debug_output ||
           hits.first == Signal::model_125m;
  });
}

bool is_nsa_program(const RunEvidence& evidence) {
  return !evidence.heartbeats.empty() || std::ranges::any_of(evidence.environments, sets_nsa) ||
         std::ranges::any_of(evidence.configs, &ConfigEvidence::of_nsa) ||
         std::ranges::any_of(evidence.logs, logs_nsa) ||
         std::ranges::any_of(evidence.traces, is_nsa);
}

void add(std::string& text, const std::string& more) {
  if (more.empty()) return;
  text += (text.empty() ? "" : "; ") + more;
}

}  // namespace

std::string Advice::all() const {
  std::string set, text_of_all;
  for (const std::string_view one : exports)
    if (!one.empty()) set += (set.empty() ? "export " : " ") + std::string(one);
  add(text_of_all, set);
  add(text_of_all, std::string(text));
  return text_of_all;
}

std::string advice_of(const RunEvidence& evidence, const Finding& finding) {
  const Found& found = finding.found;
  const bool own = !found.advice.empty();
  const Kind kind = finding.rule->kind;
  const bool of_settings = kind == Kind::environment || kind == Kind::config;
  const auto environments = environments_of(evidence, found);
  std::string missing, there;
  for (const std::string_view one : own ? found.exports : finding.rule->advice.exports) {
    if (one.empty()) continue;
    if (!of_settings && one.starts_with("NSA_") && !is_nsa_program(evidence)) continue;
    const Assignment wanted(one);
    const bool set = std::ranges::any_of(
        environments, [&](const EnvironmentEvidence* e) { return is_set(*e, wanted); });
    std::string& list = set ? there : missing;
    list += (list.empty() ? "" : " ") + std::string(one);
  }
  std::string text;
  if (!missing.empty()) add(text, "export " + missing);
  if (!there.empty() && kind != Kind::environment)
    add(text, "set already: " + there + " (does it reach the program?)");
  add(text, own ? found.advice : std::string(finding.rule->advice.text));
  return text;
}

}  // namespace nsa::doctor
