// Measurements against the users' reports.
#include "catch.hpp"
#include "nsa/doctor/gather.hpp"
#include "nsa/doctor/rule.hpp"
#include "rules/measured.hpp"

namespace nsa::test {
namespace {

using doctor::RunEvidence;

doctor::Measured row(const std::string& stage, const std::string& variant, std::int64_t length,
                     double ns, const std::string& device = "gpu") {
  doctor::Measured m;
  m.id = variant + "@" + std::to_string(length);
  m.stages = stage;
  m.variant = variant;
  m.device = device;
  m.executor = "nsatune";
  m.problem.seq_lens = {length};
  m.median_ns = ns;
  m.path = switch_target_of(variant).value_or(SwitchTarget::none);
  return m;
}

RunEvidence with_variables(std::initializer_list<std::pair<const char*, const char*>> variables) {
  RunEvidence evidence;
  evidence.environments.push_back({"env", {}, true});
  for (const auto& [name, value] : variables) evidence.environments[0].variables[name] = {value, 0};
  return evidence;
}

const doctor::Found* found(const doctor::Report& report, std::string_view rule) {
  for (const doctor::Finding& finding : report.findings)
    if (finding.rule->id == rule) return &finding.found;
  return nullptr;
}

doctor::IsPath is(SwitchTarget wanted) {
  return [wanted](SwitchTarget path) { return path == wanted; };
}

}  // namespace

TEST_CASE("where packed was measured faster than masked, the users' report does not count",
          "[doctor]") {
  RunEvidence evidence = with_variables({});
  CHECK(found(doctor::examine(evidence), "masked_switch_off"));
  evidence.measured = {row("attend_selected", "masked", 2048, 200),
                       row("attend_selected", "packed", 2048, 100)};
  CHECK_FALSE(found(doctor::examine(evidence), "masked_switch_off"));
  evidence.measured[1].median_ns = 700;
  const doctor::Report slower = doctor::examine(evidence);
  const doctor::Found* finding = found(slower, "masked_switch_off");
  REQUIRE(finding);
  CHECK(finding->gain.at_most_ratio == Approx(3.5));
  CHECK(finding->message.find("3.5 times slower") != std::string::npos);
}

TEST_CASE("what an emitted file was decided for is no guess of the users' reports", "[doctor]") {
  const auto emitted = [](const std::string& head, const std::string& lines) {
    RunEvidence evidence;
    evidence.environments.push_back(doctor::parse_environment_file(head + lines, "nsa.env"));
    return evidence;
  };
  const std::string head = "# Settings of nsa-vibe for forward prefill bf16\n\n";
  const std::string packed = "# attend_selected: packed\nNSA_FORCE_SEL_MASK=0\n";
  CHECK_FALSE(found(doctor::examine(emitted(head, packed)), "masked_switch_off"));
  CHECK(found(doctor::examine(emitted("", packed)), "masked_switch_off"));  // anybody's comment
  const std::string varlen =
      "# attend_selected: varlen v2 from 600 tokens in a selected row on, packed below\n"
      "NSA_FORCE_SEL_MASK=0\nNSA_USE_SEL_VARLEN=1\n";
  CHECK_FALSE(found(doctor::examine(emitted(head, varlen)), "masked_switch_off"));
  // Somebody changed the value below the comment.
  CHECK(found(doctor::examine(emitted(head, varlen + "NSA_USE_SEL_VARLEN=0\n")),
              "masked_switch_off"));
  const std::string open = "# attend_selected: left as it is: no times of its paths\n";
  CHECK(found(doctor::examine(emitted(head, open + "NSA_USE_FA2=0\n")), "masked_switch_off"));
  // A measurement that contradicts the file is newer evidence.
  RunEvidence contradicted = emitted(head, packed);
  contradicted.measured = {row("attend_selected", "masked", 2048, 100),
                           row("attend_selected", "packed", 2048, 200)};
  CHECK(found(doctor::examine(contradicted), "masked_switch_off"));
}

TEST_CASE("FA-2 in one branch is measured where an emitted file was decided for it", "[doctor]") {
  const auto noted = [](const std::string& text) {
    RunEvidence evidence;
    evidence.environments.push_back(doctor::parse_environment_file(text, "nsa.env"));
    const doctor::Report report = doctor::examine(evidence);
    const doctor::Found* finding = found(report, "fa2_not_measured");
    return finding ? finding->message : "";
  };
  const std::string head = "# Settings of nsa-vibe for forward prefill bf16\n";
  const std::string compressed = "# attend_compressed: fa2 varlen\nNSA_USE_FA2=1\n";
  CHECK(noted(head + compressed).find("for attend_window,") != std::string::npos);
  CHECK(noted(head + compressed + "NSA_FA2_MIN_LEN_WIN=-1\n").empty());
  CHECK(noted(compressed).find("for attend_window and attend_compressed") != std::string::npos);
}

TEST_CASE("FA-2 that is off and was measured faster is found, and the other way round",
          "[doctor]") {
  RunEvidence evidence = with_variables({{"NSA_USE_FA2", "0"}});
  evidence.measured = {row("attend_window", "fa2_varlen", 2048, 100),
                       row("attend_window", "masked", 2048, 150)};
  CHECK(found(doctor::examine(evidence), "fa2_against_measurement"));
  evidence.environments[0].variables["NSA_USE_FA2_WIN"] = {"1", 0};  // the branch's own flag wins
  CHECK_FALSE(found(doctor::examine(evidence), "fa2_against_measurement"));
  evidence.measured[0].median_ns = 300;
  CHECK(found(doctor::examine(evidence), "fa2_against_measurement"));
}

TEST_CASE("the converter is judged at the length of the config", "[doctor]") {
  RunEvidence evidence = with_variables({{"NSA_SEL_RANGES_V2", "1"}});
  evidence.measured = {row("ranges", "ranges_v1", 128, 10), row("ranges", "ranges_v2", 128, 40),
                       row("ranges", "ranges_v1", 4096, 900), row("ranges", "ranges_v2", 4096, 40)};
  CHECK_FALSE(found(doctor::examine(evidence), "range_converter"));  // contradictory without one
  doctor::ConfigEvidence config;
  config.keys["train.seq_len"] = {"256", 1};
  evidence.configs = {config};
  const doctor::Report short_report = doctor::examine(evidence);
  REQUIRE(found(short_report, "range_converter"));
  CHECK(found(short_report, "range_converter")->gain.at_most_ratio == Approx(4));
  evidence.configs[0].keys["train.seq_len"] = {"2048", 1};
  CHECK_FALSE(found(doctor::examine(evidence), "range_converter"));
}

TEST_CASE("rows of different devices or shapes are not compared", "[doctor]") {
  RunEvidence evidence;
  evidence.measured = {row("ranges", "ranges_v1", 128, 10, "a"),
                       row("ranges", "ranges_v2", 128, 40, "b")};
  CHECK_FALSE(
      compare(evidence, "ranges", is(SwitchTarget::ranges_v1), is(SwitchTarget::ranges_v2)));
  evidence.measured[1].device = "a";
  REQUIRE(compare(evidence, "ranges", is(SwitchTarget::ranges_v1), is(SwitchTarget::ranges_v2)));
  evidence.measured[1].problem.dtype = Dtype::bf16;
  CHECK_FALSE(
      compare(evidence, "ranges", is(SwitchTarget::ranges_v1), is(SwitchTarget::ranges_v2)));
  evidence.measured[1].problem.dtype = evidence.measured[0].problem.dtype;
  doctor::ConfigEvidence other;
  other.keys["model.n_heads"] = {"64", 1};
  evidence.configs = {other};
  CHECK_FALSE(
      compare(evidence, "ranges", is(SwitchTarget::ranges_v1), is(SwitchTarget::ranges_v2)));
}

TEST_CASE("a measurement counts only on the device of the trace, and in the type of the config",
          "[doctor]") {
  const auto verdict = [](const RunEvidence& evidence) {
    return compare(evidence, "ranges", is(SwitchTarget::ranges_v1), is(SwitchTarget::ranges_v2));
  };
  RunEvidence evidence;
  evidence.measured = {row("ranges", "ranges_v1", 128, 10), row("ranges", "ranges_v2", 128, 40)};
  for (doctor::Measured& m : evidence.measured) m.device_name = "NVIDIA H200";
  REQUIRE(verdict(evidence));
  doctor::TraceEvidence trace;
  trace.summary.devices.push_back(
      {.device = 0, .part = 0, .name = "another", .gpu = {}, .streams = {}});
  evidence.traces.push_back(trace);
  CHECK_FALSE(verdict(evidence));
  evidence.traces[0].summary.devices[0].name = "NVIDIA H200";
  CHECK(verdict(evidence));
  doctor::ConfigEvidence config;
  config.keys["runtime.precision"] = {"bf16-mixed", 1};
  evidence.configs = {config};
  for (doctor::Measured& m : evidence.measured) m.problem.dtype = Dtype::bf16;
  CHECK(verdict(evidence));
  for (doctor::Measured& m : evidence.measured) m.problem.dtype = Dtype::fp16;
  CHECK_FALSE(verdict(evidence));
}

TEST_CASE("devices that contradict each other decide nothing", "[doctor]") {
  RunEvidence evidence;
  evidence.measured = {
      row("ranges", "ranges_v1", 128, 10, "a"), row("ranges", "ranges_v2", 128, 40, "a"),
      row("ranges", "ranges_v1", 128, 40, "b"), row("ranges", "ranges_v2", 128, 10, "b")};
  doctor::ConfigEvidence config;
  config.keys["train.seq_len"] = {"128", 1};
  evidence.configs = {config};
  CHECK_FALSE(
      compare(evidence, "ranges", is(SwitchTarget::ranges_v1), is(SwitchTarget::ranges_v2)));
}

}  // namespace nsa::test
