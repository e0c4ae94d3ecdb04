#include "record.hpp"

#include <unistd.h>

#include <string_view>

#include "nsa/probes/probes.hpp"
#include "program.hpp"
#include "sweep/measuring.hpp"
#include "version.hpp"

namespace nsa::cli {
namespace {

constexpr std::string_view kVariable = "env.", kOurs = "NSATUNE_";
/// The first key of the spec of such a run.
constexpr const char* kSpecKey = "run";

}  // namespace

RunRecord begin_record(const Device& device, const RunPlan& plan) {
  RunRecord record;
  Run& run = record.run;
  run.id = make_uuid();
  run.spec_json = json_text({{kSpecKey, plan.config.name},
                             {"name", "run " + plan.config.name},
                             {"seq_len", plan.seq_len},
                             {"batch", plan.batch}});
  run.spec_hash = hash_hex(run.spec_json);
  run.build_id = build_id();
  run.environment = probes::environment_fingerprint({device});
  run.devices = {device};
  run.started_at = now_iso8601();
  record.libraries = libraries_here();
  return record;
}

std::map<std::string, std::string> variables_of(const Environment& environment) {
  std::map<std::string, std::string> variables;
  for (const EnvironmentFact& fact : environment.facts) {
    if (fact.key.starts_with(kVariable)) variables[fact.key.substr(kVariable.size())] = fact.value;
  }
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (text.starts_with(kOurs) && equals != std::string::npos)
      variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

void keep_record(store::Store& db, RunRecord record, const Json& report) {
  record.run.ended_at = now_iso8601();
  record.run.state = RunState::complete;
  db.add(record.run, record.libraries,
         {make_uuid(), record.run.id, record.run.started_at,
          report.at("command").get<std::string>(), report});
}

bool is_run_record(const Run& run) {
  return run.spec_json.starts_with(std::string("{\"") + kSpecKey + "\":");
}

}  // namespace nsa::cli
