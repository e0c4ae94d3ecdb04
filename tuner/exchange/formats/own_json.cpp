// The JSON of nsatune export json: rows, runs with their devices, and what runs found of libraries.
#include <map>

#include "formats.hpp"
#include "nsa/reports/export.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "own.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

std::vector<Capability> libraries_of(const Json& list) {
  std::vector<Capability> libraries;
  for (const Json& one : list)
    libraries.push_back({one.at("library").get<std::string>(), one.at("usable").get<bool>(),
                         one.value("version", ""), one.value("reason", "")});
  return libraries;
}

std::vector<RunHead> runs_of(const Json& document, const std::string& where) {
  std::map<std::string, std::vector<Capability>> libraries;
  if (document.contains("libraries")) {
    for (const Json& one : document["libraries"])
      libraries[one.at("run_id").get<std::string>()] = libraries_of(one.at("libraries"));
  }
  std::vector<RunHead> heads;
  if (!document.contains("runs")) return heads;
  for (const Json& one : document["runs"]) {
    RunHead& head = heads.emplace_back();
    from_json(one, head.run);
    require_consistent(head.run, where);
    head.libraries = libraries[head.run.id];
  }
  return heads;
}

}  // namespace

Imported read_own_json(const Input& input) {
  const Json document = parse_json(input.text, input.where);
  validate_json(document, "export_results", input.where);
  Imported imported;
  imported.runs = runs_of(document, input.where);
  for (const RunHead& head : imported.runs)
    imported.devices.insert(imported.devices.end(), head.run.devices.begin(),
                            head.run.devices.end());
  bool all_samples = true;
  for (const Json& one : document["measurements"]) {
    Measurement& row = imported.rows.emplace_back();
    from_json(one, row);
    complete_row(row, input.where);
    all_samples = all_samples && (row.samples_n == 0 || !row.samples.empty());
    stand_in_for_samples(row, input.where);
  }
  if (document.contains("run_results") && !document["run_results"].empty())
    imported.notes.push_back("results of nsatune run are left out");
  if (!all_samples)
    imported.notes.push_back("has no raw samples; nsatune export json --samples writes them");
  return imported;
}

Bundle write_own_json(const Results& results, const std::string&) {
  std::vector<Run> runs;
  Json libraries = Json::array();
  for (const auto& [run, found] : results.runs) {
    runs.push_back(run);
    libraries.push_back({{"run_id", run.id}, {"libraries", found}});
  }
  Json document = reports::measurements_json(results.rows, runs, "");
  document["libraries"] = libraries;
  return {document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", {}};
}

}  // namespace nsa::exchange
