// report memory: what each stage holds, against the batch.
#include <fmt/format.h>

#include <memory>

#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/problem/limits.hpp"
#include "stage_memory.hpp"
#include "tables.hpp"

namespace nsa::cli {
namespace {

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
                         print_fitted(text_of(memory, program.settings.style_out()));
                       }
                       return ExitCode::good;
                     });
  CLI::Option* preset =
      sub->add_option("--preset", o->run.preset, "Model that is built in (default: 125m)")
          ->check(has_values(model_preset_names()));
  declare_config(*sub, o->run.config, o->run.ignore_unknown, "Your model: YAML, as for run")
      ->excludes(preset);
  sub->add_option("--seq-len", o->run.seq_len, "New tokens per sequence (default 2048)");
  sub->add_option("--dtype", o->run.dtype, "As for run")->check(has_values(dtype_names()));
  sub->add_option("--thresholds", o->run.thresholds, "Thresholds file, as for run");
  sub->add_option("--batches", o->batches, "Batches (default 1,2,4,8)")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, kMaxProblemBatch));
}

}  // namespace nsa::cli
