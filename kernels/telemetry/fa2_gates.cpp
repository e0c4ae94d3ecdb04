#include "telemetry/fa2_gates.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <set>

#include "nsa/kernels/vendor.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa {
namespace {

bool is_gated(const Variant& row, Stage stage, Backend backend) {
  return row.backend == backend && row.stages.size() == 1 && row.stages.front() == stage &&
         (row.switch_target == SwitchTarget::sdpa || row.switch_target == SwitchTarget::fa2_dense ||
          row.switch_target == SwitchTarget::fa2_varlen);
}

std::string gate_of(const Variant& row, const Problem& problem, const Device& device) {
  if (!row.launch) return "no: " + why_not_built(row);
  const Support support = supports(row, problem, device);
  return support.supported ? "yes" : "no: " + support.reason();
}

/// "attend_window S=2048 B=1 H=12/2 D=64/64 w=512 bf16"
std::string title_of(Stage stage, const Problem& p) {
  return std::string(to_string(stage)) + " S=" + std::to_string(p.max_seq_len()) +
         " B=" + std::to_string(p.batch()) + " context=" + std::to_string(p.max_context()) +
         " H=" + std::to_string(p.q_heads) + "/" + std::to_string(p.kv_heads) +
         " D=" + std::to_string(p.head_dim_k) + "/" + std::to_string(p.head_dim_v) +
         " w=" + std::to_string(p.geometry.window) + " " + std::string(to_string(p.dtype));
}

}  // namespace

std::string fa2_gates(const Router& router, Stage stage, const Problem& problem) {
  const Router::Inputs& inputs = router.inputs();
  const std::string title = "NSA_DEBUG_FA2: " + title_of(stage, problem) + ": ";
  std::string text;
  for (const Variant& row : inputs.rows) {
    if (!is_gated(row, stage, inputs.device.backend)) continue;
    text += title + std::string(row.name) + " " + gate_of(row, problem, inputs.device) + "\n";
  }
  if (text.empty()) return text;
  for (const Explanation& line : explain(router, problem).decisions) {
    if (std::ranges::find(line.stages, stage) == line.stages.end()) continue;
    text += title + "runs " + line.variant + " (" + std::string(to_string(line.source)) +
            (line.why.empty() ? "" : ": " + line.why) + ")" +
            (line.fallback_reason ? "; fell back: " + *line.fallback_reason : "") + "\n";
  }
  return text;
}

bool print_fa2_gates_once(const Router& router, Stage stage, const Problem& problem) {
  if (stage != Stage::attend_window && stage != Stage::attend_compressed) return false;
  if (!router.environment().boolean("NSA_DEBUG_FA2").value_or(false)) return false;
  // Once per process is enough to read; a set is the memory of that.
  static std::mutex mutex;
  static std::set<std::string> printed;
  const std::string key = std::string(to_string(stage)) + Json(problem).dump();
  {
    const std::lock_guard lock(mutex);
    if (!printed.insert(key).second) return false;
  }
  const std::string text = fa2_gates(router, stage, problem);
  std::fwrite(text.data(), 1, text.size(), stderr);
  return !text.empty();
}

}  // namespace nsa
