#include <memory>

#include "nsa/reports/export.hpp"
#include "nsa/store/store.hpp"
#include "program.hpp"

namespace nsa::cli {
namespace {

struct ExportOptions {
  std::string format = "csv";
  std::optional<std::string> out, run_id, stage, variant;
  bool samples = false;
};

std::string text_of(const Settings& settings, const ExportOptions& o) {
  const auto db = store::Store::open_existing(settings.db_path());
  store::Query query{.stage = o.stage, .variant = o.variant, .with_samples = o.samples};
  if (o.run_id) {
    const std::optional<Run> run = db.find_run(*o.run_id);
    if (!run) throw InputError("--run: no run " + *o.run_id + "; nsatune db info lists them");
    query.run_id = run->id;
  }
  const std::vector<Measurement> rows = db.measurements(query);
  if (settings.json || o.format == "json")
    return json_text(reports::measurements_json(rows), 2) + "\n";
  return o.samples ? reports::samples_csv(rows) : reports::measurements_csv(rows);
}

}  // namespace

void add_export(Program& program) {
  auto o = std::make_shared<ExportOptions>();
  CLI::App* sub = program.add(
      "export", "Measurements as CSV or JSON",
      "  nsatune export -o results.csv\n"
      "  nsatune export --format json --run 3f2a --samples | jq '.measurements | length'",
      [&program, o] {
        const std::string text = text_of(program.settings, *o);
        if (o->out) {
          write_text_file(*o->out, text);
          say(program.settings, "wrote " + *o->out);
        } else {
          print_text(text);
        }
        return ExitCode::good;
      });
  sub->add_option("--format", o->format, "csv (default) or json")
      ->check(CLI::IsMember({"csv", "json"}));
  sub->add_option("-o,--output", o->out, "File (default: stdout)");
  sub->add_option("--run", o->run_id, "Only this run (id or its first digits)");
  sub->add_option("--stage", o->stage, "Only this stage");
  sub->add_option("--variant", o->variant, "Only this variant");
  sub->add_flag("--samples", o->samples, "Raw samples: one CSV line each, or in the JSON");
}

}  // namespace nsa::cli
