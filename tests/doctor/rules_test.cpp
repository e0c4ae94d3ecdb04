// The table of rules, what they ask for, and in which order findings come.
#include <set>
#include <sstream>

#include "advice.hpp"
#include "catch.hpp"
#include "nsa/doctor/gather.hpp"
#include "nsa/doctor/rule.hpp"

namespace nsa::test {
namespace {

using doctor::RunEvidence;

RunEvidence with_variables(std::initializer_list<std::pair<const char*, const char*>> variables) {
  RunEvidence evidence;
  evidence.environments.push_back({"env", {}, true});
  for (const auto& [name, value] : variables) evidence.environments[0].variables[name] = {value, 0};
  return evidence;
}

}  // namespace

TEST_CASE("ids are unique, sources are report:line, and every rule says what to do", "[doctor]") {
  std::set<std::string_view> ids;
  for (const doctor::Rule& rule : doctor::rules()) {
    CAPTURE(std::string(rule.id));
    CHECK(ids.insert(rule.id).second);
    CHECK_FALSE(rule.advice.all().empty());
    CHECK_FALSE(rule.title.empty());
    REQUIRE(rule.judge != nullptr);
    std::istringstream sources{std::string(rule.source)};
    for (std::string one; std::getline(sources >> std::ws, one, ',');) {
      REQUIRE(one.size() >= 5);
      CHECK(one.substr(0, 2) == "00");
      CHECK(one[3] == ':');
      CHECK(one.find_first_not_of("0123456789", 4) == std::string::npos);
    }
  }
}

TEST_CASE("a rule without its evidence is not judged", "[doctor]") {
  CHECK(doctor::examine({}).rules_judged == 0);
  CHECK(doctor::examine(with_variables({})).rules_judged == 18);
}

TEST_CASE("no advice of any rule asks for what is set already", "[doctor]") {
  std::size_t asked = 0;
  for (const doctor::Rule& rule : doctor::rules()) {
    CAPTURE(std::string(rule.id));
    RunEvidence evidence = with_variables({});
    const doctor::Finding finding{&rule, {}, {}};
    CHECK(doctor::advice_of(evidence, finding) == rule.advice.all());
    for (const std::string_view one : rule.advice.exports) {
      if (one.empty()) continue;
      ++asked;
      CAPTURE(std::string(one));
      const std::size_t equals = one.find('=');
      REQUIRE(equals != one.npos);
      evidence.environments[0].variables[std::string(one.substr(0, equals))] = {
          std::string(one.substr(equals + 1)), 0};
      const std::string text = doctor::advice_of(evidence, finding);
      const std::string set = text.substr(0, text.find("set already: "));  // and nothing before it
      CHECK(set.find(one) == std::string::npos);
    }
    // Nobody is told to export what its text only names: that could be set as well.
    CHECK(rule.advice.text.find("export ") == std::string_view::npos);
  }
  CHECK(asked > 20);
}

TEST_CASE("a variable counts where it is set, with the value that is asked for", "[doctor]") {
  const auto rule = [](std::string_view id) {
    for (const doctor::Rule& one : doctor::rules())
      if (one.id == id) return doctor::Finding{&one, {}, {}};
    FAIL("no such rule");
    return doctor::Finding{};
  };
  const doctor::Finding slow = rule("log_slow_path"), ddp = rule("distributed_settings");
  const auto advice = [](const doctor::Finding& finding, const RunEvidence& evidence) {
    return doctor::advice_of(evidence, finding);
  };
  CHECK(advice(slow, with_variables({})) == "export NSA_FORCE_SEL_MASK=1; start again");
  CHECK(advice(slow, with_variables({{"NSA_FORCE_SEL_MASK", "0"}})) ==
        "export NSA_FORCE_SEL_MASK=1; start again");
  CHECK(advice(slow, with_variables({{"NSA_FORCE_SEL_MASK", "true"}})) ==
        "set already: NSA_FORCE_SEL_MASK=1 (does it reach the program?); start again");
  RunEvidence unknown = with_variables({{"NSA_FORCE_SEL_MASK", "1"}});
  unknown.environments[0].variables["NSA_FORCE_SEL_MASK"].known = false;
  CHECK(advice(slow, unknown) == "export NSA_FORCE_SEL_MASK=1; start again");
  // Numbers of that size or more; entries of a list; a name that PyTorch changed.
  CHECK(advice(ddp, with_variables({{"NSA_DDP_BUCKET_MB", "64"}, {"NSA_DDP_STATIC_GRAPH", "1"}})) ==
        "export NSA_DDP_FIND_UNUSED=0");
  const doctor::Finding memory = rule("trace_fragmentation");
  for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"})
    CHECK(advice(memory, with_variables({{name, "max_split_size_mb:64,expandable_segments:True"}}))
              .starts_with("set already: "));
  // What another environment sets does not help the one that the finding is about.
  RunEvidence two = with_variables({{"NSA_FORCE_SEL_MASK", "1"}});
  two.environments.push_back({"other", {}, true});
  doctor::Finding masked = rule("masked_switch_off");
  masked.found.facts = {{.what = "NSA_FORCE_SEL_MASK is not set", .source = "other"}};
  CHECK(advice(masked, two) == "export NSA_FORCE_SEL_MASK=1");
}

TEST_CASE("variables of NSA are asked for where something is of an NSA program", "[doctor]") {
  RunEvidence evidence;
  evidence.environments.push_back({"environment", {{"PATH", {"/bin", 0}}}, false});
  doctor::CommandEvidence command;
  command.source = "python train.py";
  command.seconds = 300;
  evidence.commands = {command};
  const auto advice = [&] {
    for (const doctor::Finding& finding : doctor::examine(evidence).findings)
      if (finding.rule->id == "command_silent") return finding.advice;
    return std::string();
  };
  CHECK(advice() == "try short sequences first (128 tokens)");
  doctor::ConfigEvidence config;
  config.keys["nsa.w"] = {"512", 1};
  evidence.configs = {config};
  CHECK(advice().starts_with("export NSA_PREFILL_BATCHED=1 NSA_FORCE_SEL_MASK=1; "));
}

TEST_CASE("findings of one severity come with the largest gain first", "[doctor]") {
  RunEvidence evidence;
  for (const auto& [name, percent] : {std::pair{"a.log", 25.0}, std::pair{"b.log", 5.0}}) {
    doctor::LogEvidence log;
    log.file = name;
    log.gpu_percent = {percent};
    log.signals[doctor::Signal::sdpa_fallback] = {1, 1, 1, "sdpa: back to math"};
    evidence.logs.push_back(log);
  }
  std::vector<std::string> order;
  for (const doctor::Finding& finding : doctor::examine(evidence).findings)
    order.push_back(std::string(finding.rule->id) + " " + finding.found.facts.front().source);
  CHECK(order == std::vector<std::string>{"log_idle_gpu b.log", "log_idle_gpu a.log",
                                          "log_sdpa_fallback a.log", "log_sdpa_fallback b.log"});
}

TEST_CASE("a key of one project's config is named only where a config has it", "[doctor]") {
  RunEvidence evidence;
  doctor::LogEvidence log;
  log.file = "run.log";
  log.signals[doctor::Signal::checkpointing] = {1, 1, 1, "gradient checkpointing enabled"};
  evidence.logs = {log};
  const auto advice = [&] {
    for (const doctor::Finding& finding : doctor::examine(evidence).findings)
      if (finding.rule->id == "log_checkpointing") return finding.advice;
    return std::string();
  };
  CHECK(advice() == "switch it off if memory allows");
  doctor::ConfigEvidence config;
  config.file = "train.yaml";
  config.keys["runtime.gradient_checkpointing"] = {"true", 7};
  evidence.configs = {config};
  CHECK(advice() ==
        "switch it off if memory allows (runtime.gradient_checkpointing: false in train.yaml)");
}

}  // namespace nsa::test
