#include "measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "nsa/schemas/json.hpp"

namespace nsa::doctor {
namespace {

struct Best {
  const Measured* first = nullptr;
  const Measured* second = nullptr;
  double ratio() const { return first->median_ns / second->median_ns; }
};

void keep_faster(const Measured*& best, const Measured& row) {
  if (!best || row.median_ns < best->median_ns) best = &row;
}

std::int64_t length_of(const Problem& problem) {
  std::int64_t longest = 1;
  for (const std::int64_t s : problem.seq_lens) longest = std::max(longest, s);
  return longest;
}

std::string key_of(const Measured& row) {
  const Json problem = row.problem;
  return row.device + "|" + row.executor + "|" + problem.dump();
}

bool of_shape(const Problem& p, const ConfigEvidence& config) {
  const auto same = [&](const char* key, std::int64_t value) {
    return config.integer(key).value_or(value) == value;
  };
  return same("model.n_heads", p.q_heads) && same("model.n_kv_groups", p.kv_heads) &&
         same("model.d_k", p.head_dim_k) && same("nsa.l_sel", p.geometry.sel_block) &&
         same("nsa.n_sel", p.geometry.sel_count) && same("nsa.w", p.geometry.window);
}

/// Devices that traces were recorded on; empty: nothing says where the program runs.
std::vector<std::string> devices_of(const RunEvidence& evidence) {
  std::vector<std::string> out;
  for (const TraceEvidence& trace : evidence.traces)
    for (const trace::DeviceSummary& device : trace.summary.devices)
      if (device.name && !device.name->empty()) out.push_back(*device.name);
  return out;
}

/// What the config trains in; empty: it does not say, or it is none of ours.
std::string_view dtype_of(const ConfigEvidence& config) {
  const Setting* const precision = config.find("runtime.precision");
  if (!precision) return {};
  for (const std::string_view name : {"bf16", "fp16", "fp32"})
    if (precision->value.find(name) != std::string::npos) return name;
  return {};
}

/// What was measured elsewhere or in another type says nothing here.
bool applies(const Measured& row, const std::vector<std::string>& devices,
             const ConfigEvidence* config) {
  if (!devices.empty() && !row.device_name.empty() &&
      std::find(devices.begin(), devices.end(), row.device_name) == devices.end())
    return false;
  if (!config) return true;
  const std::string_view dtype = dtype_of(*config);
  return of_shape(row.problem, *config) && (dtype.empty() || dtype == to_string(row.problem.dtype));
}

/// Whether what is compared is of one device only, or all agree.
bool agree(const std::map<std::string, Best>& by_problem) {
  bool one_device = true, faster = false, slower = false;
  const std::string& device = by_problem.begin()->second.first->device;
  for (const auto& [key, best] : by_problem) {
    one_device &= best.first->device == device;
    (best.ratio() > 1 ? slower : faster) = true;
  }
  return one_device || !(faster && slower);
}

Verdict verdict_of(const Best& best) {
  const Problem& p = best.first->problem;
  return {best.ratio(),
          fmt::format(
              "{}, S {} of {} {}/{} heads",
              clean(best.first->device_name.empty() ? best.first->device : best.first->device_name),
              length_of(p), to_string(p.dtype), p.q_heads, p.kv_heads),
          {best.first->id, best.second->id}};
}

}  // namespace

std::optional<Verdict> compare(const RunEvidence& evidence, std::string_view stages,
                               const IsPath& first, const IsPath& second) {
  const ConfigEvidence* config = evidence.configs.empty() ? nullptr : &evidence.configs.front();
  const std::vector<std::string> devices = devices_of(evidence);
  std::map<std::string, Best> by_problem;
  for (const Measured& row : evidence.measured) {
    if (row.stages != stages || !(row.median_ns > 0)) continue;
    if (!applies(row, devices, config)) continue;
    Best& best = by_problem[key_of(row)];
    if (first(row.path)) keep_faster(best.first, row);
    if (second(row.path)) keep_faster(best.second, row);
  }
  std::erase_if(by_problem, [](const auto& b) { return !b.second.first || !b.second.second; });
  if (by_problem.empty() || !agree(by_problem)) return {};
  const auto wanted = config ? config->integer("train.seq_len") : std::nullopt;
  if (wanted && *wanted > 0) {
    const auto distance = [&](const auto& entry) {
      const auto length = static_cast<double>(length_of(entry.second.first->problem));
      return std::abs(std::log(length / static_cast<double>(*wanted)));
    };
    return verdict_of(
        std::min_element(by_problem.begin(), by_problem.end(), [&](const auto& a, const auto& b) {
          return distance(a) < distance(b);
        })->second);
  }
  const auto [least, most] = std::minmax_element(
      by_problem.begin(), by_problem.end(),
      [](const auto& a, const auto& b) { return a.second.ratio() < b.second.ratio(); });
  if (least->second.ratio() < 1 && most->second.ratio() > 1) return {};
  return verdict_of(most->second.ratio() > 1 ? least->second : most->second);
}

std::string text_of(const Verdict& verdict) {
  const bool slower = verdict.ratio > 1;
  return fmt::format("measured {:.3g} times {} on {}", slower ? verdict.ratio : 1 / verdict.ratio,
                     slower ? "slower" : "faster", verdict.where);
}

}  // namespace nsa::doctor
