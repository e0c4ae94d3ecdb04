// report bundle: two settings, measured, traced and written up in one folder.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>

#include "cells/captured_process.hpp"
#include "cells/cell_process.hpp"
#include "device_choice.hpp"
#include "nsa/kernels/catalog.hpp"
#include "nsa/run_tables/bundle.hpp"
#include "nsa/run_tables/tables.hpp"
#include "nsa/schemas/output_path.hpp"
#include "shell.hpp"
#include "tables.hpp"

namespace nsa::cli {
namespace {

namespace fs = std::filesystem;
using run_tables::Asked;
using run_tables::Side;

struct BundleOptions {
  MeasureOptions measure;
  std::string a, b, folder;
};

/// "NSA_SEL_RANGES_V2=0 --branches sel": variables, then flags of `run`.
Asked parse_setting(const std::string& label, const std::string& text, const MeasureOptions& o) {
  Asked asked{label, o.seq_lens.empty() ? 2048 : o.seq_lens.front(), o.batch, {}, {}};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (!asked.flags.empty() || word.starts_with("--")) {
      asked.flags.push_back(word);
    } else if (word.starts_with("NSA_") && equals != std::string::npos) {
      asked.variables.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    } else if (word != "tuned") {
      throw InputError(label + ": '" + word +
                       "' is neither NSA_NAME=value nor a flag of run; 'tuned' sets nothing");
    }
  }
  return asked;
}

/// The folder as it is made: under its name only when all of it is there. The name until then is
/// new, so that nothing of a bundle that was killed, or is made beside this one, gets into it.
class NewFolder {
 public:
  explicit NewFolder(const std::string& path) : path_(without_slash(path)), partial_(path_) {
    partial_ += "." + make_uuid().substr(0, 8) + ".partial";
    std::error_code error;
    if (fs::exists(fs::symlink_status(path_, error)))
      throw InputError(path + ": exists; name a new folder");
    fs::create_directories(partial_, error);
    if (error)
      throw_path_error(error.value(),
                       path + ": cannot be made: " + error.message() + "; name another folder");
  }
  ~NewFolder() {
    std::error_code ignored;
    fs::remove_all(partial_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  std::string file(const std::string& name) const { return (partial_ / name).string(); }
  void keep() const {
    std::error_code error;
    fs::rename(partial_, path_, error);
    if (error) throw EnvironmentError(path_.string() + ": cannot be made: " + error.message());
  }

 private:
  static fs::path without_slash(const fs::path& path) {
    return path.has_filename() ? path : path.parent_path();
  }

  fs::path path_, partial_;
};

/// A process of its own that writes down its stages; on a GPU `trace record` does it.
void trace_side(const Settings& settings, const MeasureOptions& o, const NewFolder& folder,
                const std::string& name, Side& side) {
  Settings unkept = settings;
  unkept.db.reset();
  std::vector<std::string> argv = run_command(unkept, o, side.cell.asked);
  const bool gpu = chosen_device(settings).backend == Backend::cuda;
  if (gpu) {
    argv.insert(argv.begin(), {argv.front(), "trace", "record", "-o", folder.file(name), "--"});
  } else {
    argv.insert(argv.end(), {"--stage-trace", folder.file(name + "_trace.json")});
  }
  argv.emplace_back("--no-db");
  const auto& variables = side.cell.asked.variables;
  const Captured done = run_captured(argv, {variables.begin(), variables.end()}, o.timeout_s);
  if (done.exit_code != 0 || done.timed_out) {
    side.no_trace = "the traced process failed: " + done.err;
    return;
  }
  if (gpu) {
    side.no_trace = "they are in the traces: nsatune trace summary " + name;
    return;
  }
  const std::string path = folder.file(name + "_trace.json");
  side.stages = run_tables::stage_times(parse_json(read_text_file(path), path));
  write_text_file(folder.file(name + "_summary.txt"), run_tables::stage_times_text(side.stages));
}

/// What the table of variants says of those that ran.
std::map<std::string, std::string> sentences(const std::vector<run_tables::Cell>& cells) {
  std::map<std::string, std::string> what;
  for (const Variant& row : catalog()) {
    if (row.direction != Direction::forward) continue;
    const std::string name = stages_text(row.stages) + "/" + std::string(row.name);
    for (const run_tables::Cell& cell : cells) {
      for (const run_tables::Ran& ran : cell.ran) {
        if (ran.stages + "/" + ran.variant == name) what.try_emplace(name, row.summary);
      }
    }
  }
  return what;
}

/// `nsatune run` with the setting of a side.
std::string side_command(const Settings& settings, const MeasureOptions& o, const Asked& asked) {
  std::vector<std::string> words;
  for (const auto& [name, value] : asked.variables) words.push_back(name + "=" + value);
  words.insert(words.end(), {"nsatune", "run"});
  if (settings.device) words.insert(words.end(), {"--device", *settings.device});
  const std::vector<std::string> flags = run_flags(o, asked);
  words.insert(words.end(), flags.begin(), flags.end());
  return shell_line(words);
}

/// What made the bundle.
std::string bundle_command(const Settings& settings, const BundleOptions& o, const Asked& asked) {
  std::vector<std::string> words{"nsatune", "report", "bundle", o.a, o.b};
  if (settings.device) words.insert(words.end(), {"--device", *settings.device});
  std::vector<std::string> flags = run_flags(o.measure, {"", asked.seq_len, asked.batch, {}, {}});
  std::replace(flags.begin(), flags.end(), std::string("--seq-len"), std::string("--seq-lens"));
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"--processes", std::to_string(o.measure.processes), "-o", o.folder});
  return shell_line(words);
}

ExitCode run(const Settings& settings, const BundleOptions& o) {
  const std::vector<Asked> asked{parse_setting("A", o.a, o.measure),
                                 parse_setting("B", o.b, o.measure)};
  const NewFolder folder(o.folder);
  const MeasuredCells measured = measure_cells(settings, o.measure, asked);
  run_tables::Bundle bundle{measured.subject,
                            {measured.cells[0], {}, ""},
                            {measured.cells[1], {}, ""},
                            sentences(measured.cells)};
  trace_side(settings, o.measure, folder, "a", bundle.a);
  trace_side(settings, o.measure, folder, "b", bundle.b);
  const run_tables::Commands commands{side_command(settings, o.measure, asked[0]),
                                      side_command(settings, o.measure, asked[1]),
                                      bundle_command(settings, o, asked[0])};
  write_text_file(folder.file("before_after.md"), run_tables::before_after_markdown(bundle));
  write_text_file(folder.file("design_note.md"), run_tables::design_note_markdown(bundle));
  write_text_file(folder.file("runbook.md"), run_tables::runbook_markdown(bundle, commands));
  write_text_file(folder.file("runs.json"),
                  json_text(cells_document("bundle", measured, "A"), 2) + "\n");
  folder.keep();
  say(settings, "wrote " + o.folder);
  if (settings.json) {
    print_json(cells_document("bundle", measured, "A"));
  } else {
    print_text(run_tables::header_text(measured.subject) +
               run_tables::cells_table(measured.cells, "A", settings.style_out()) +
               run_tables::verdict_text(bundle) + "\n");
  }
  return exit_code_of(measured.cells);
}

}  // namespace

void add_report_bundle(Program& program, CLI::App& report) {
  auto o = std::make_shared<BundleOptions>();
  CLI::App* sub = add_table(
      program, report, "bundle",
      "Two settings as a folder: traces, summaries, before and after, design note, runbook",
      "  nsatune report bundle NSA_SEL_RANGES_V2=0 NSA_SEL_RANGES_V2=1 --seq-lens 2048 -o ab\n"
      "  nsatune report bundle tuned 'NSA_FORCE_SEL_MASK=1' --device cuda:0 -o masked\n"
      "  nsatune report bundle tuned '--attention dense' -o dense",
      [&program, o] { return run(program.settings, *o); });
  sub->add_option("A", o->a, "Before: NSA_NAME=value ..., then flags of run; 'tuned' sets nothing")
      ->required();
  sub->add_option("B", o->b, "After: likewise")->required();
  sub->add_option("-o,--output", o->folder, "Folder to create")->required();
  declare(*sub, o->measure);
}

}  // namespace nsa::cli
