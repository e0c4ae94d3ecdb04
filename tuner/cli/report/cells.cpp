// report matrix, paths, ablations, batch: cells of whole forward passes beside each other.
#include <memory>

#include "device_choice.hpp"
#include "nsa/run_tables/grids.hpp"
#include "nsa/run_tables/tables.hpp"
#include "nsa/schemas/problem/limits.hpp"
#include "tables.hpp"

namespace nsa::cli {
namespace {

using run_tables::Asked;

using Lengths = std::vector<std::int64_t>;

/// A table: which cells it asks for, and which of them the others are compared with.
struct Table {
  const char* name;
  const char* base;
  Lengths seq_lens;  // where the user names none
  std::vector<Asked> (*grid)(const Lengths& seq_lens, const MeasureOptions& options);
};

ExitCode print(const Settings& settings, const char* name, const MeasuredCells& measured,
               const std::string& base) {
  if (settings.json) {
    print_json(cells_document(name, measured, base));
  } else {
    print_text(run_tables::header_text(measured.subject) +
               run_tables::cells_table(measured.cells, base, settings.style_out()));
  }
  return exit_code_of(measured.cells);
}

ExitCode run(const Settings& settings, const MeasureOptions& o, const Table& table) {
  const auto& lengths = o.seq_lens.empty() ? table.seq_lens : o.seq_lens;
  return print(settings, table.name, measure_cells(settings, o, table.grid(lengths, o)),
               table.base);
}

void declare_train(CLI::App& sub, MeasureOptions& o, const std::string& what) {
  sub.add_flag("--train", o.train,
               "Training steps: " + what + ", 50 steps in 2 processes unless flags say otherwise");
}

/// What is measured where the user says nothing: fifty steps say more of training than three, and
/// their processes take longer.
void adapt_to_training(const CLI::App& sub, MeasureOptions& o) {
  if (!o.train) return;
  if (sub.count("--warmup") > 0)
    throw InputError("report " + sub.get_name() +
                     " --train: only the first step of a process is untimed, and no flag adds "
                     "others; drop --warmup");
  if (sub.count("--steps") == 0) o.steps = 50;
  if (sub.count("--processes") == 0) o.processes = 2;
}

/// The matrix, of forward passes or of training steps.
struct MatrixOptions {
  MeasureOptions measure;
  std::vector<std::int64_t> batches;  // empty: --batch; 1 and 2 of training
};

ExitCode run_matrix(const Settings& settings, const CLI::App& sub, MatrixOptions o) {
  adapt_to_training(sub, o.measure);
  if (o.measure.train && o.batches.empty() && sub.count("--batch") == 0) o.batches = {1, 2};
  const Lengths usual = o.measure.train ? Lengths{512, 1024, 2048} : Lengths{128, 512, 1024, 2048};
  if (o.batches.empty()) o.batches = {o.measure.batch};
  const auto grid =
      run_tables::matrix_grid(o.measure.seq_lens.empty() ? usual : o.measure.seq_lens, o.batches);
  return print(settings, "matrix", measure_cells(settings, o.measure, grid), "v1");
}

void add_matrix(Program& program, CLI::App& report) {
  auto o = std::make_shared<MatrixOptions>();
  auto sub = std::make_shared<CLI::App*>(nullptr);
  *sub = add_table(program, report, "matrix",
                   "Tokens per second by length and range converter: adaptive, v1, v2",
                   "  nsatune report matrix --device cuda:0 --dtype bf16\n"
                   "  nsatune report matrix --train --preset tiny --device cpu\n"
                   "  nsatune report matrix --preset tiny --seq-lens 128,512 --processes 5 --json",
                   [&program, o, sub] { return run_matrix(program.settings, **sub, *o); });
  declare(**sub, o->measure);
  declare_train(**sub, o->measure, "512, 1024 and 2048 tokens, batches 1 and 2");
  (*sub)
      ->add_option("--batches", o->batches, "Several batches: 1,2 or 1:8:x2")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, kMaxProblemBatch));
}

std::vector<Asked> paths(const Lengths& seq_lens, const MeasureOptions& o) {
  return run_tables::path_grid(seq_lens, o.batch);
}

ExitCode run_ablations(const Settings& settings, const CLI::App& sub, MeasureOptions o) {
  adapt_to_training(sub, o);
  if (o.seq_lens.empty()) o.seq_lens = {512, 2048};
  const Backend backend = chosen_device(settings).backend;
  const ModelConfig model = model_of(o, backend);
  const auto grid =
      o.train ? run_tables::training_switch_grid(o.seq_lens, o.batch, size_of(model.dtype) == 2,
                                                 backend != Backend::cpu)
              : run_tables::ablation_grid(o.seq_lens, o.batch, model.layers);
  return print(settings, "ablations", measure_cells(settings, o, grid), grid.front().label);
}

void add_ablations(Program& program, CLI::App& report) {
  auto o = std::make_shared<MeasureOptions>();
  auto sub = std::make_shared<CLI::App*>(nullptr);
  *sub = add_table(
      program, report, "ablations",
      "What each branch, the depth and the kind of attention cost, and why a part can be slower; "
      "of "
      "training, what each switch gives",
      "  nsatune report ablations --device cuda:0\n"
      "  nsatune report ablations --seq-lens 1024 --json\n"
      "  nsatune report ablations --train --preset tiny --seq-lens 256 --steps 10 --device cpu",
      [&program, o, sub] { return run_ablations(program.settings, **sub, *o); });
  declare(**sub, *o);
  declare_train(**sub, *o, "the defaults, and each switch by itself");
}

struct BatchOptions {
  MeasureOptions measure;
  std::vector<std::int64_t> batches{1, 2, 4, 8}, kv_heads;
};

/// Every number of KV heads that the query heads can be shared by.
std::vector<std::int64_t> divisors(std::int64_t heads) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 1; i <= heads; ++i) {
    if (heads % i == 0) found.push_back(i);
  }
  return found;
}

ExitCode run_batches(const Settings& settings, const CLI::App& sub, BatchOptions o) {
  adapt_to_training(sub, o.measure);
  const std::int64_t length = o.measure.seq_lens.empty() ? 512 : o.measure.seq_lens.front();
  if (o.kv_heads.empty()) o.kv_heads = divisors(model_of(o.measure).q_heads);
  const auto grid = o.measure.train ? run_tables::checkpoint_grid(length, o.batches)
                                    : run_tables::batch_grid(length, o.batches, o.kv_heads);
  return print(settings, "batch", measure_cells(settings, o.measure, grid), "");
}

void add(Program& program, CLI::App& report, const Table& table, const char* about,
         const std::string& examples) {
  auto o = std::make_shared<MeasureOptions>();
  CLI::App* sub = add_table(program, report, table.name, about, examples,
                            [&program, o, table] { return run(program.settings, *o, table); });
  declare(*sub, *o);
}

void add_batches(Program& program, CLI::App& report) {
  auto o = std::make_shared<BatchOptions>();
  auto added = std::make_shared<CLI::App*>(nullptr);
  CLI::App* sub = *added = add_table(
      program, report, "batch",
      "Tokens per second against the batch and the number of KV heads; of training, with its peak "
      "memory, against the batch and checkpointing",
      "  nsatune report batch --seq-lens 2048 --device cuda:0\n"
      "  nsatune report batch --batches 1,2,4 --kv-heads 1,2,4,12 --json\n"
      "  nsatune report batch --train --preset tiny --batches 1,2,4 --steps 5 --device cpu",
      [&program, o, added] { return run_batches(program.settings, **added, *o); });
  declare(*sub, o->measure);
  declare_train(*sub, o->measure,
                "with and without activation checkpointing at each batch, peak memory beside what "
                "the memory model predicted");
  sub->add_option("--batches", o->batches, "Batches (default 1,2,4,8)")
      ->delimiter(',')
      ->check(CLI::Range(std::int64_t{1}, kMaxProblemBatch));
  sub->add_option("--kv-heads", o->kv_heads,
                  "Numbers of KV heads (default: every divisor of the query heads)")
      ->delimiter(',')
      ->excludes("--train")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{65536}));
}

}  // namespace

void add_report_cells(Program& program, CLI::App& report) {
  add_matrix(program, report);
  add(program, report, {"paths", "ranges", {512, 2048}, paths},
      "The selected branch by each path: masked against packed and the slow ranges",
      "  nsatune report paths --device cuda:0\n  nsatune report paths --seq-lens 2048 --timeout "
      "300");
  add_ablations(program, report);
  add_batches(program, report);
}

}  // namespace nsa::cli
