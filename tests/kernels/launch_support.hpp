// Runs one row of the table as the worker does: inputs from a seed, poisoned outputs, one launch.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "host_launch.hpp"
#include "nsa/kernels/inputs.hpp"
#include "nsa/kernels/oracle.hpp"

namespace nsa::test {

inline std::vector<TensorView> views_of(const std::vector<HostTensor>& tensors) {
  std::vector<TensorView> views;
  for (const HostTensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

/// One launch into these outputs, with the caller's workspace.
inline void launch_into(const std::vector<HostTensor>& outputs, Workspace& workspace,
                        const Variant& variant, const Problem& problem,
                        const std::vector<TensorView>& inputs, const Point& point = {},
                        const AttentionOptions& options = {}, Saved* saved = nullptr) {
  HostLaunch{.row = variant,
             .problem = problem,
             .in = inputs,
             .out = views_of(outputs),
             .point = point,
             .options = options,
             .saved = saved}
      .run(workspace);
}

inline std::vector<HostTensor> launch(const Variant& variant, const Problem& problem,
                                      const std::vector<TensorView>& inputs,
                                      const Point& point = {}, const AttentionOptions& options = {},
                                      Saved* saved = nullptr) {
  auto outputs = make_outputs(variant.stages, problem);
  Workspace workspace;
  launch_into(outputs, workspace, variant, problem, inputs, point, options, saved);
  return outputs;
}

inline const Variant& cpu_variant(std::span<const Stage> stages, std::string_view name) {
  const Variant* variant = find_variant(stages, name, Backend::cpu);
  expects(variant != nullptr, "a CPU variant of that name");
  return *variant;
}
inline const Variant& cpu_variant(Stage stage, std::string_view name) {
  return cpu_variant(std::span(&stage, 1), name);
}

/// Small enough to check every row of everything.
inline Problem small_problem() {
  Problem p;
  p.seq_lens = {40};
  p.context_lens = {0};
  p.q_heads = 4;
  p.kv_heads = 2;
  p.head_dim_k = p.head_dim_v = 4;
  p.geometry = {4, 2, 8, 4, 6};
  p.dtype = Dtype::fp64;
  p.model.model_dim = 8;
  return p;
}

/// "prefill [37] q6/kv2 fp32": for INFO lines.
inline std::string describe(const Problem& p) {
  std::string text(to_string(p.phase));
  for (std::size_t b = 0; b < p.seq_lens.size(); ++b) {
    text += " " + std::to_string(p.context_lens[b]) + "+" + std::to_string(p.seq_lens[b]);
  }
  text += " q" + std::to_string(p.q_heads) + "/kv" + std::to_string(p.kv_heads) + " dims " +
          std::to_string(p.head_dim_k) + "/" + std::to_string(p.head_dim_v) + " l" +
          std::to_string(p.geometry.cmp_block) + " d" + std::to_string(p.geometry.cmp_stride) +
          " l'" + std::to_string(p.geometry.sel_block) + " n" +
          std::to_string(p.geometry.sel_count) + " w" + std::to_string(p.geometry.window);
  return text + " " + std::string(to_string(p.dtype)) + " " +
         std::string(to_string(p.selection.pattern));
}

}  // namespace nsa::test
