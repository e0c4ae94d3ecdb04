#include "nsa/reports/kernel_proof.hpp"

#include <algorithm>
#include <optional>

#include "nsa/kernels/kernel_names.hpp"

namespace nsa::reports {
namespace {

using Key = std::pair<std::string, std::string>;
using Kernels = std::map<std::string, std::int64_t>;

std::vector<std::string> split(const std::string& stages) {
  std::vector<std::string> names;
  for (std::size_t from = 0; from <= stages.size();) {
    const std::size_t to = std::min(stages.find('+', from), stages.size());
    names.push_back(stages.substr(from, to - from));
    from = to + 1;
  }
  return names;
}

/// The row of a window among those that the step says ran; nothing for what is no row ("layer nsa",
/// a model's name).
std::optional<Key> row_of(const StageWindow& window, const Engaged& engaged) {
  for (const auto& [key, calls] : engaged) {
    const std::vector<std::string> stages = split(key.first);
    const bool same_stage =
        std::find(stages.begin(), stages.end(), to_string(window.stage)) != stages.end();
    if (same_stage && key.second == window.variant) return key;
  }
  return std::nullopt;
}

/// The innermost window of a launch whose row is known, or nothing.
std::optional<Key> launcher_of(const SeenKernel& kernel, const SeenStep& step) {
  const StageWindow* innermost = nullptr;
  std::optional<Key> found;
  for (const StageWindow& window : step.windows) {
    const bool inside =
        window.begin_ns <= kernel.launched_ns && kernel.launched_ns <= window.end_ns;
    if (!inside || (innermost && window.begin_ns < innermost->begin_ns)) continue;
    if (auto key = row_of(window, step.engaged)) {
      innermost = &window;
      found = std::move(key);
    }
  }
  return found;
}

const Variant* variant_of(const Key& key, Backend backend) {
  const VariantId id{split(key.first), key.second, {}};
  return find_variant(id, backend);
}

bool has_any(const std::string& name, const std::vector<std::string_view>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

std::string joined(const std::vector<std::string_view>& parts) {
  std::string text;
  for (const std::string_view part : parts) text += (text.empty() ? "" : ", ") + std::string(part);
  return text;
}

/// Attention, layer and model: their stages have rows of their own.
bool runs_stages(const Variant& row) {
  return row.stages.front() >= Stage::attention && row.plan.mode != CompositePlan::Mode::one_kernel;
}

std::string mismatch_of(const Variant* row, const Kernels& kernels) {
  if (!row) return "is not a row of this program's table";
  if (runs_stages(*row)) return "";
  const ClaimedKernels claimed = claimed_kernels(*row);
  bool own = claimed.own.empty() && kernels.empty();
  for (const auto& [name, count] : kernels) {
    const bool is_own = has_any(name, claimed.own);
    if (!is_own && !has_any(name, claimed.helpers)) return "ran " + name + ", which is not its own";
    own = own || is_own;
  }
  if (own) return "";
  return kernels.empty() ? "started no kernel; its own are named " + joined(claimed.own)
                         : "none of its kernels is named " + joined(claimed.own);
}

}  // namespace

bool KernelProof::holds() const {
  return std::all_of(rows.begin(), rows.end(),
                     [](const RowProof& row) { return row.mismatch.empty(); });
}

KernelProof prove_kernels(const Engaged& ran, std::span<const SeenStep> steps, Backend backend) {
  KernelProof proof;
  std::map<Key, Kernels> started;
  for (const SeenStep& step : steps) {
    for (const auto& [key, calls] : step.engaged) started.try_emplace(key);
    for (const SeenKernel& kernel : step.kernels) {
      const auto key = launcher_of(kernel, step);
      ++(key ? started[*key] : proof.others)[kernel.name];
    }
  }
  for (const auto& [key, kernels] : started)
    proof.rows.push_back(
        {key.first, key.second, kernels, mismatch_of(variant_of(key, backend), kernels)});
  for (const auto& [key, calls] : ran) {
    if (!started.contains(key))
      proof.rows.push_back(
          {key.first, key.second, {}, "ran in the timed steps and not in the traced one"});
  }
  return proof;
}

}  // namespace nsa::reports
