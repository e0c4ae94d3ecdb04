// Results of other programs into the database: all files are read first, then added at once.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "files/database_wait.hpp"
#include "files/format_name.hpp"
#include "nsa/exchange/exchange.hpp"
#include "nsa/reports/text_table.hpp"
#include "nsa/schemas/output_path.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/trace/unpacked.hpp"
#include "program.hpp"
#include "version.hpp"

namespace nsa::cli {
namespace {

struct ImportOptions {
  std::string format;
  std::vector<std::string> files, axes, fixed;
  exchange::Mapping mapping;
};

/// What one file gave.
struct ImportedFile {
  std::string path;
  std::size_t rows = 0;
  std::vector<std::string> notes;
};

std::vector<std::pair<std::string, std::string>> pairs_of(const std::vector<std::string>& texts,
                                                          const char* flag) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      throw InputError(std::string(flag) + ": '" + text + "' is not NAME=VALUE");
    pairs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return pairs;
}

/// Of two values for one axis nobody knows which is meant.
void refuse_twice(const exchange::Mapping& mapping) {
  std::set<std::string> seen;
  for (const auto* pairs : {&mapping.axes, &mapping.fixed}) {
    for (const auto& [axis, value] : *pairs) {
      if (!seen.insert(axis).second)
        throw InputError("--axis, --set: " + axis + " is given twice; drop one");
    }
  }
}

exchange::Mapping mapping_of(const Settings& settings, const ImportOptions& o) {
  exchange::Mapping mapping = o.mapping;
  mapping.device = settings.device;
  mapping.axes = pairs_of(o.axes, "--axis");
  mapping.fixed = pairs_of(o.fixed, "--set");
  refuse_twice(mapping);
  if (mapping.executor == "nsatune")
    throw InputError(
        "--executor nsatune: this name is reserved for nsatune's own rows; choose another");
  if (mapping.stage && !from_string<Stage>(*mapping.stage))
    throw InputError("--stage " + *mapping.stage + ": is not a stage; nsatune variants lists them");
  return mapping;
}

/// Says what a file is that is none of the format, where that is known.
exchange::Imported read(const std::string& format_name, const exchange::Input& input) {
  const exchange::Format& format = exchange::find_format(format_name);
  try {
    return format.read(input);
  } catch (const InputError& error) {
    const std::string said = error.what();
    const auto found = exchange::recognise(input.text);
    if (found ? found->format == format_name : !said.ends_with(" is missing")) throw;
    throw InputError(fmt::format("{}; {} expects {}",
                                 found ? input.where + ": is " + found->what : said, format_name,
                                 format.about.substr(0, format.about.find(';'))));
  }
}

/// Reads one file with its sidecars; every byte that was read is in the hash.
std::vector<store::RunWithRows> runs_of(const std::string& path, const ImportOptions& o,
                                        const exchange::Mapping& mapping, ImportedFile& report) {
  if (is_database(path))  // which may be larger than a file that is read
    throw InputError(path + ": is a results database; use it with --db, or nsatune db merge");
  const std::string text = trace::unpacked(read_text_file(path), path);
  std::string bytes = text;
  const auto sidecar = [&](const std::string& name) {
    const auto beside = std::filesystem::path(path).parent_path() / name;
    std::string content = read_text_file(beside.string());
    bytes += content;
    return content;
  };
  exchange::Imported imported = read(o.format, {path, text, sidecar, mapping});
  report = {path, imported.rows.size(), imported.notes};
  const std::string file = std::filesystem::path(path).filename().string();
  return exchange::import_runs(std::move(imported),
                               {o.format, file, version_text(), hash_hex(bytes), mapping});
}

void print_report(const Settings& settings, const ImportOptions& o, const store::Added& added,
                  const std::vector<ImportedFile>& files) {
  for (const ImportedFile& file : files) {
    for (const std::string& note : file.notes)
      say(settings, reports::printable(file.path + ": " + note));
  }
  if (settings.json) {
    Json list = Json::array();
    for (const ImportedFile& file : files)
      list.push_back({{"file", file.path}, {"rows", file.rows}, {"notes", file.notes}});
    print_json({{"format", o.format},
                {"database", settings.db_path()},
                {"runs_added", added.runs},
                {"rows_added", added.rows},
                {"rows_known", added.known},
                {"files", list}});
    return;
  }
  say(settings, fmt::format("{}: {} in {} added, {} were there", settings.db_path(),
                            counted(added.rows, "row"), counted(added.runs, "run"), added.known));
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const exchange::Format& format : exchange::formats()) names.emplace_back(format.name);
  return names;
}

void require_format(const ImportOptions& o) {
  const std::vector<std::string> all = format_names();
  const auto is_format = [&](const std::string& word) {
    return std::ranges::find(all, word) != all.end();
  };
  if (is_format(o.format)) return;
  const auto format = std::ranges::find_if(o.files, is_format);
  if (format != o.files.end())
    throw InputError(
        fmt::format("import: the format comes before the files: import {} {}", *format, o.format));
  refuse_format("import", o.format, all);
}

ExitCode run_import(const Settings& settings, const ImportOptions& o) {
  require_format(o);
  const exchange::Mapping mapping = mapping_of(settings, o);
  std::vector<store::RunWithRows> runs;
  std::vector<ImportedFile> files(o.files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (store::RunWithRows& run : runs_of(o.files[i], o, mapping, files[i]))
      runs.push_back(std::move(run));
  }
  auto db = store::Store::open(settings.db_path(), wait_aloud(settings));
  const store::Added added = db.add_runs(runs);
  print_report(settings, o, added, files);
  return ExitCode::good;
}

}  // namespace

void add_import(Program& program) {
  auto o = std::make_shared<ImportOptions>();
  CLI::App* sub = program.add(
      "import",
      "Read results of export and of other programs into the database: all files, or none",
      "  nsatune import csv results.csv.gz --db elsewhere.sqlite\n"
      "  nsatune import nvbench their_results.json\n"
      "  nsatune import nsa_vibe decode.csv fa2_win.txt --device 'NVIDIA A100'\n"
      "  nsatune import kernel_tuner cache.json --stage attend_selected --axis seq_len=n\n"
      "  nsatune import google_benchmark bench.json --stage attend_window --axis seq_len=arg0 "
      "--set window=512\n"
      "Imported rows are unverified unless the file says otherwise, and belong to an executor of "
      "the tool's name; --device names the device on which they were measured.",
      [&program, o] { return run_import(program.settings, *o); });
  sub->add_option("FORMAT", o->format,
                  "csv, json (what export writes), kernel_tuner, t4, nvbench, google_benchmark, "
                  "tunableop, otava, nsa_vibe")
      ->required()
      ->check(has_values(format_names()));
  sub->add_option("FILE", o->files, "Files of that format")->required();
  sub->add_option("--executor", o->mapping.executor,
                  "Whose implementations they are (default: as the file says, else the tool)");
  sub->add_option("--stage", o->mapping.stage, "NSA stage that was measured");
  sub->add_option("--variant-of", o->mapping.variant,
                  "Parameter of the file that names the implementation");
  sub->add_option("--axis", o->axes,
                  "AXIS=PARAMETER: the file's parameter that holds an axis of the problem "
                  "(seq_len, context_len, batch, ..., or compressed_len in compressed tokens)")
      ->allow_extra_args(false);
  sub->add_option("--set", o->fixed, "AXIS=VALUE: an axis of the problem that the file leaves out")
      ->allow_extra_args(false);
}

}  // namespace nsa::cli
