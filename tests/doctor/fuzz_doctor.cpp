// libFuzzer: any bytes are evidence, judged without control characters in what is printed, or an
// InputError. The first byte says which reader gets the rest.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "doctor/evidence.hpp"
#include "nsa/doctor/gather.hpp"
#include "nsa/doctor/report_json.hpp"
#include "nsa/schemas/error.hpp"

namespace {

nsa::doctor::RunEvidence evidence_of(char reader, std::string_view text) {
  nsa::doctor::RunEvidence evidence;
  switch (reader) {
    case 'l': {
      nsa::doctor::LogReader log("fuzz");
      for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        log.take(text.substr(at, end - at));
        at = end + 1;
      }
      evidence.logs.push_back(log.log());
      evidence.environments.push_back({"fuzz", log.variables(), false});
      break;
    }
    case 'h':
      evidence.heartbeats.push_back(nsa::doctor::parse_heartbeat(text, "fuzz"));
      break;
    case 'e':
      evidence.environments.push_back(nsa::doctor::parse_environment_file(text, "fuzz"));
      break;
    case 'c':
      evidence.commands.push_back(nsa::doctor::parse_command_record(text, "fuzz"));
      break;
    case 'y':
      evidence.configs.push_back(nsa::cli::read_config(text, "fuzz"));
      break;
    default:
      nsa::doctor::recognise(text, "fuzz");
  }
  return evidence;
}

void check_text(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const auto report = nsa::doctor::examine(evidence_of(bytes.front(), bytes.substr(1)));
    for (const nsa::doctor::Finding& finding : report.findings) {
      check_text(finding.found.message);
      for (const nsa::doctor::Fact& fact : finding.found.facts) check_text(fact.what);
    }
    nsa::doctor::to_document(report);
  } catch (const nsa::InputError& error) {
    check_text(error.what());
  }
  return 0;
}
