#include "stage_memory.hpp"

#include "device_choice.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/runtime.hpp"
#include "nsa/probes/probes.hpp"
#include "run/report.hpp"
#include "run/router.hpp"

namespace nsa::cli {
namespace {

/// What a layer runs, in its order, then what holds it. Scores and the compressed branch are one
/// row where one is chosen for both.
const std::vector<std::vector<Stage>>& asked_stages() {
  static const std::vector<std::vector<Stage>> stages{{Stage::project_rope},
                                                      {Stage::compress},
                                                      {Stage::attend_compressed, Stage::score},
                                                      {Stage::ranges},
                                                      {Stage::attend_selected},
                                                      {Stage::attend_window},
                                                      {Stage::gate_combine},
                                                      {Stage::out_proj},
                                                      {Stage::attention},
                                                      {Stage::layer},
                                                      {Stage::model}};
  return stages;
}

std::int64_t output_bytes(const Variant& row, const Problem& problem) {
  std::int64_t bytes = 0;
  for (const TensorSpec& tensor : signature_of(row.stages).outputs) {
    const TensorShape shape = shape_of(row.stages, tensor.name, problem);
    std::int64_t elements = 1;
    for (int d = 0; d < shape.rank; ++d) elements *= shape.shape[static_cast<std::size_t>(d)];
    bytes += elements * static_cast<std::int64_t>(size_of(shape.dtype));
  }
  return bytes;
}

Problem problem_at(const RunPlan& plan, std::int64_t batch) {
  const auto sequences = static_cast<std::size_t>(batch);
  return problem_of(plan.config, std::vector<std::int64_t>(sequences, plan.seq_len),
                    std::vector<std::int64_t>(sequences, 0));
}

/// Lines of these stages: one, or one for each row of the segmentation that is chosen.
void add_stages(const Router& router, const std::vector<Stage>& stages, Memory& memory) {
  const Problem first = problem_at(memory.plan, memory.batches.front());
  const Segmentation segmentation = router.segmentation(stages, first);
  for (const Choice& choice : segmentation.choices()) {
    if (!choice.variant) continue;
    StageMemory line{
        stages_text(choice.variant->stages), std::string(choice.variant->name), {}, {}};
    for (const std::int64_t batch : memory.batches) {
      const Problem problem = problem_at(memory.plan, batch);
      const Choice at = router.choose(choice.variant->stages.front(), problem);
      const Variant* row =
          at.variant && choice.variant->stages.size() == 1 ? at.variant : choice.variant;
      line.workspace.emplace_back(workspace_of(*row, problem));
      line.outputs.emplace_back(output_bytes(*row, problem));
    }
    memory.stages.push_back(std::move(line));
  }
}

}  // namespace

Memory memory_of(const Settings& settings, const MemoryOptions& o) {
  Memory memory;
  memory.device = chosen_device(settings);
  memory.plan = make_run_plan(o.run, memory.device.backend);
  memory.batches = o.batches;
  const ModelConfig& c = memory.plan.config;
  memory.weights_bytes = parameter_count(c) * static_cast<std::int64_t>(size_of(c.dtype));
  for (const std::int64_t batch : o.batches)
    memory.cache_bytes.push_back(cache_bytes(c, batch, memory.plan.seq_len));
  const Router router = router_of(settings, memory.device, o.run, memory.plan);
  for (const auto& stages : asked_stages()) {
    if (stages.front() == Stage::model && memory.plan.layer) continue;
    add_stages(router, stages, memory);
  }
  return memory;
}

}  // namespace nsa::cli
