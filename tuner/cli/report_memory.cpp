// report memory: what each stage holds, against the batch.
#include <fmt/format.h>

#include <memory>

#include "nsa/kernels/catalog.hpp"
#include "nsa/kernels/runtime.hpp"
#include "nsa/probes/probes.hpp"
#include "nsa/reports/text_table.hpp"
#include "report_tables.hpp"
#include "routing_inputs.hpp"
#include "run_options.hpp"

namespace nsa::cli {
namespace {

struct MemoryOptions {
  RunOptions run;
  std::vector<std::int64_t> batches{1, 2, 4, 8};
};

using Bytes = std::vector<std::optional<std::int64_t>>;  // by batch; nothing: no row runs it

struct StageMemory {
  std::string stage, variant;
  Bytes workspace, outputs;
};

struct Memory {
  Device device;
  RunPlan plan;
  std::vector<std::int64_t> batches, cache_bytes;
  std::int64_t weights_bytes = 0;
  std::vector<StageMemory> stages;
};

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

/// Lines of these stages: one, or one for each row of the cover that is chosen.
void add_stages(const Router& router, const std::vector<Stage>& stages, Memory& memory) {
  const Problem first = problem_at(memory.plan, memory.batches.front());
  const Cover cover = router.cover(stages, first);
  for (const Choice& choice : cover.choices()) {
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

Memory memory_of(const Settings& settings, const MemoryOptions& o) {
  Memory memory;
  memory.device = probes::require_device(settings.device.value_or("cpu"));
  memory.plan = make_run_plan(o.run, memory.device.backend);
  memory.batches = o.batches;
  const ModelConfig& c = memory.plan.config;
  const auto element = static_cast<std::int64_t>(size_of(c.dtype));
  memory.weights_bytes = parameter_count(c) * element;
  for (const std::int64_t batch : o.batches)
    memory.cache_bytes.push_back(batch * c.layers * memory.plan.seq_len * c.kv_heads *
                                 (c.head_dim_k + c.head_dim_v) * element);
  const Router router = make_router(settings, memory.device, o.run.thresholds, o.run.no_thresholds);
  for (const auto& stages : asked_stages()) {
    if (stages.front() == Stage::model && memory.plan.layer) continue;
    add_stages(router, stages, memory);
  }
  return memory;
}

Json bytes_json(const Bytes& bytes) {
  Json list = Json::array();
  for (const auto& one : bytes) list.push_back(one ? Json(*one) : Json());
  return list;
}

Json json_of(const Memory& memory) {
  Json stages = Json::array();
  for (const StageMemory& line : memory.stages) {
    stages.push_back({{"stage", line.stage},
                      {"variant", line.variant},
                      {"workspace_bytes", bytes_json(line.workspace)},
                      {"output_bytes", bytes_json(line.outputs)}});
  }
  return {{"device", memory.device},
          {"model", memory.plan.config.name},
          {"dtype", to_string(memory.plan.config.dtype)},
          {"seq_len", memory.plan.seq_len},
          {"batches", memory.batches},
          {"weights_bytes", memory.weights_bytes},
          {"cache_bytes", memory.cache_bytes},
          {"stages", stages}};
}

std::string megabytes(std::int64_t bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) * 1e-6);
}

std::string text_of(const Memory& memory, reports::Style style) {
  reports::TextTable table;
  table.add_column("stage");
  table.add_column("variant");
  for (const std::int64_t batch : memory.batches)
    table.add_column(fmt::format("batch {}", batch), reports::Align::right);
  for (const StageMemory& line : memory.stages) {
    std::vector<reports::Cell> cells{line.stage, line.variant};
    for (std::size_t i = 0; i < line.workspace.size(); ++i)
      cells.emplace_back(megabytes(*line.workspace[i]) + " + " + megabytes(*line.outputs[i]));
    table.add_row(std::move(cells));
  }
  std::vector<reports::Cell> cache{"K and V of a decode loop", ""};
  for (const std::int64_t bytes : memory.cache_bytes) cache.emplace_back(megabytes(bytes));
  table.add_row(std::move(cache));
  return fmt::format(
             "{} for {} ({}), {}, S {}: forward only\n"
             "  MB of workspace at most + of tensors written, of one launch; weights: {} MB\n",
             memory.plan.config.name, reports::printable(memory.device.name), memory.device.id,
             to_string(memory.plan.config.dtype), memory.plan.seq_len,
             megabytes(memory.weights_bytes)) +
         table.render(style);
}

}  // namespace

void add_report_memory(Program& program, CLI::App& report) {
  auto o = std::make_shared<MemoryOptions>();
  CLI::App* sub =
      program.add_to(report, "memory", "What each stage holds in memory, against the batch",
                     "By arithmetic over what would run: nothing is launched. `report batch` has "
                     "the peak that was "
                     "seen.\nAlso: --json --color --device (see nsatune --help)\n\nExamples:\n"
                     "  nsatune report memory --seq-len 8192 --device cuda:0\n"
                     "  nsatune report memory --preset paper-layer --batches 1,16 --json",
                     [&program, o] {
                       const Memory memory = memory_of(program.settings, *o);
                       if (program.settings.json) {
                         print_json(json_of(memory));
                       } else {
                         print_text(text_of(memory, {.color = program.settings.color_out()}));
                       }
                       return ExitCode::good;
                     });
  CLI::Option* preset =
      sub->add_option("--preset", o->run.preset, "125m (default), tiny, layer, paper-layer");
  sub->add_option("--config", o->run.config, "A model of yours: YAML, as for run")
      ->excludes(preset);
  sub->add_option("--seq-len", o->run.seq_len, "New tokens per sequence (default 2048)");
  sub->add_option("--dtype", o->run.dtype, "As for run");
  sub->add_option("--thresholds", o->run.thresholds, "Thresholds file, as for run");
  sub->add_option("--batches", o->batches, "Batches (default 1,2,4,8)")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}));
}

}  // namespace nsa::cli
