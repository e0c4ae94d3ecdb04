#include "inject/window.hpp"

#include <algorithm>
#include <charconv>

#include "nsa/schemas/text/step_name.hpp"
#include "nsa/schemas/trace_request.hpp"

namespace nsa::inject {
namespace {

/// A whole number, not negative; else `fallback`, and it is said.
std::int64_t number(const std::function<const char*(const char*)>& get, const char* name,
                    std::int64_t fallback, std::string& complaint) {
  const char* text = get(name);
  if (!text || !*text) return fallback;
  const std::string_view all(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), value);
  if (error == std::errc{} && end == all.data() + all.size() && value >= 0) return value;
  complaint = std::string(name) + "=" + text + " is not a whole number";
  return fallback;
}

WindowKind window_kind(const char* text, std::string& complaint) {
  if (!text || !*text) return WindowKind::all;
  const std::string_view name(text);
  if (name == "all") return WindowKind::all;
  if (name == "steps") return WindowKind::steps;
  if (name == "seconds") return WindowKind::seconds;
  if (name == "calls") return WindowKind::calls;
  if (name == "profiler_api") return WindowKind::profiler_api;
  complaint = std::string(spool::kEnvWindow) + "=" + text + " is not a kind of window";
  return WindowKind::all;
}

/// "a,b" -> a, b.
std::set<std::string, std::less<>> words(std::string_view text) {
  std::set<std::string, std::less<>> out;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) out.emplace(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

bool is_set(const char* text) { return text && *text && std::string_view(text) != "0"; }

}  // namespace

Request read_request(const std::function<const char*(const char*)>& get) {
  Request r;
  if (const char* folder = get(spool::kEnvFolder)) r.folder = folder;
  Window& w = r.window;
  w.kind = window_kind(get(spool::kEnvWindow), r.complaint);
  w.skip = number(get, spool::kEnvSkip, 0, r.complaint);
  w.warmup = number(get, spool::kEnvWarmup, 0, r.complaint);
  w.count = number(get, spool::kEnvCount, 0, r.complaint);
  w.skip_ms = number(get, spool::kEnvSkipMs, 0, r.complaint);
  w.duration_ms = number(get, spool::kEnvDurationMs, 0, r.complaint);
  if (const char* name = get(spool::kEnvStepName)) w.step_name = name;
  if (const char* name = get(spool::kEnvStepKernel)) w.step_kernel = name;
  r.hang_ms = number(get, spool::kEnvHangMs, 0, r.complaint);
  const char* on_hang = get(spool::kEnvOnHang);
  r.end_on_hang = on_hang && std::string_view(on_hang) == "end";
  r.all_calls = is_set(get(spool::kEnvAllCalls));
  r.python_stacks_us = number(get, spool::kEnvPythonStacksUs, 0, r.complaint);
  if (const char* without = get(spool::kEnvWithout)) r.without = words(without);
  return r;
}

Phase phase_of(const Window& w, std::int64_t index) {
  if (index < w.skip) return Phase::skipping;
  if (index - w.skip < w.warmup) return Phase::warming_up;
  if (w.count > 0 && index - w.skip - w.warmup >= w.count) return Phase::done;
  return Phase::recording;
}

Phase first_phase(const Window& w) {
  switch (w.kind) {
    case WindowKind::all:
      return Phase::recording;
    case WindowKind::calls:
      return phase_of(w, 0);
    case WindowKind::seconds:
      return w.skip_ms == 0 ? Phase::recording : Phase::skipping;
    default:
      return Phase::skipping;  // until the first step, or cudaProfilerStart
  }
}

bool is_step_name(std::string_view name, std::string_view wanted) {
  return wanted.empty() ? step_name(name) != StepName::no : name == wanted;
}

}  // namespace nsa::inject
