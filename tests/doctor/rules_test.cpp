// What the fixtures do not reach: measurements against the users' reports, bounds, the readers'
// corners.
#include <set>
#include <sstream>

#include "advice.hpp"
#include "catch.hpp"
#include "gather/log_signals.hpp"
#include "nsa/doctor/gather.hpp"
#include "nsa/doctor/rule.hpp"
#include "nsa/schemas/error.hpp"
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
  CHECK(advice() == "switch it off while memory suffices");
  doctor::ConfigEvidence config;
  config.file = "train.yaml";
  config.keys["runtime.gradient_checkpointing"] = {"true", 7};
  evidence.configs = {config};
  CHECK(
      advice() ==
      "switch it off while memory suffices (runtime.gradient_checkpointing: false in train.yaml)");
}

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

TEST_CASE("throughput is read from the forms that logs have", "[doctor]") {
  CHECK(doctor::tok_per_s_of("step 20 | 39.5 toks/s") == Approx(39.5));
  CHECK(doctor::tok_per_s_of("step 20 | ~9,200 tok/s") == Approx(9200));
  CHECK(doctor::tok_per_s_of("\"toks_per_s\": 12.0, \"loss\": 3") == Approx(12));
  CHECK(doctor::tok_per_s_of("tokens_per_sec=7") == Approx(7));
  CHECK(doctor::tok_per_s_of("tok/s: 5.5") == Approx(5.5));
  CHECK(doctor::tok_per_s_of("loss 3.1 tokens/s: 18400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("loss: 5.71, tok/s: 18400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("step=7 loss=3.21, tok/s=18400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("step=7 tok/s=18400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("step 7, loss 3, tok/s 18400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("step 1 loss 5.71 9.2e+03 tok/s") == Approx(9200));
  CHECK(doctor::tok_per_s_of("loss 5.71 tok/s: 12.3k") == Approx(12300));
  CHECK(doctor::tok_per_s_of("12.3k tok/s, loss 2") == Approx(12300));
  CHECK(doctor::tok_per_s_of("1.2m tok/s") == Approx(1.2e6));
  CHECK(doctor::tok_per_s_of("18400 tok/s/gpu") == Approx(18400));
  CHECK(doctor::tok_per_s_of("tok_per_s:18,400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("tokens_per_sec=18,400, loss=3") == Approx(18400));
  CHECK(doctor::tok_per_s_of("tokens/second: 1,018,400.5") == Approx(1018400.5));
  CHECK(doctor::tok_per_s_of("speed (tok/s): 18400") == Approx(18400));
  CHECK(doctor::tok_per_s_of("500 steps, 3 tok/step, 18400 tok/s") == Approx(18400));
  CHECK(doctor::tok_per_s_of("https: //x 7 tps=18400") == Approx(18400));
  CHECK_FALSE(doctor::tok_per_s_of("12.3 ktok/s"));
  CHECK_FALSE(doctor::tok_per_s_of("loss 3.1 tok/s=nan"));
  CHECK_FALSE(doctor::tok_per_s_of("tok/s is what we print"));
  CHECK_FALSE(doctor::tok_per_s_of("toks_per_s=nan"));
}

TEST_CASE("a traceback and the exception that ends it are one crash", "[doctor]") {
  using doctor::Signal;
  doctor::LogReader reader("run.log");
  const auto take_one = [&] {
    reader.take("Traceback (most recent call last):");
    reader.take("  File \"train.py\", line 3, in <module>");
    reader.take("RuntimeError: CUDA error: an illegal memory access was encountered");
  };
  take_one();
  CHECK(reader.log().signals.at(Signal::crash).count == 1);
  CHECK(reader.log().signals.at(Signal::crash).last_line == 3);
  take_one();
  CHECK(reader.log().signals.at(Signal::crash).count == 2);
  reader.take("RuntimeError: CUDA error: out of nothing");  // of no traceback
  CHECK(reader.log().signals.at(Signal::crash).count == 3);
}

TEST_CASE("a progress bar's carriage returns part its figures", "[doctor]") {
  doctor::LogReader reader("run.log");
  reader.take("1/3, tok/s=18400\r2/3, tok/s=18500\r3/3, tok/s=18600\r");
  CHECK(reader.log().tok_per_s == std::vector<double>{18400, 18500, 18600});
  CHECK(reader.log().lines == 1);
}

TEST_CASE("a word that is denied, or stands for another setting, is no signal", "[doctor]") {
  for (const char* line :
       {"namespace(gradient_checkpointing=false, compile=true)",
        "gradient checkpointing enabled: false", "gradient checkpointing: not enabled",
        "gradient_checkpointing_kwargs={'use_reentrant': true}", "gradient_checkpointing: 0",
        "anomaly detection enabled: false", "anomaly mode: off",
        "sdpa backends allowed: flash, efficient, math; fallback off",
        "processgroupnccl environments: torch_nccl_dump_on_timeout: 0, torch_nccl_enable_timing: "
        "0, watchdog heartbeat monitor: 1"}) {
    CAPTURE(line);
    CHECK(doctor::signals_of(line).empty());
  }
  using doctor::Signal;
  for (const auto& [line, signal] :
       {std::pair{"namespace(gradient_checkpointing=true, compile=false)", Signal::checkpointing},
        std::pair{"'gradient_checkpointing': true", Signal::checkpointing},
        std::pair{"gradient checkpointing enabled (use_reentrant=false)", Signal::checkpointing},
        std::pair{"gradient checkpointing is enabled", Signal::checkpointing},
        std::pair{"anomaly detection enabled", Signal::anomaly_mode},
        std::pair{"sdpa: falling back to math", Signal::sdpa_fallback},
        std::pair{"watchdog caught collective operation timeout: worknccl", Signal::watchdog},
        std::pair{"nccl watchdog timed out, dumping stacks", Signal::watchdog}}) {
    CAPTURE(line);
    CHECK(doctor::signals_of(line) == std::vector<Signal>{signal});
  }
}

TEST_CASE("memory and utilisation are read from the forms that tools have", "[doctor]") {
  CHECK(doctor::gpu_percent_of("0, 24117 mib, 88 %") == Approx(88));
  CHECK_FALSE(doctor::gpu_percent_of("index, memory.used [mib], utilization.gpu [%]"));
  CHECK_FALSE(doctor::gpu_percent_of("0, 24117 mib, 188 %"));
  CHECK(doctor::bytes_before("and 512.00 mib is reserved by x", "is reserved by") ==
        Approx(536870912.0));
  CHECK_FALSE(doctor::bytes_before("and much is reserved by x", "is reserved by"));
}

TEST_CASE("variables are read from a script, a prefix and another process", "[doctor]") {
  doctor::Settings set;
  CHECK(doctor::read_assignments("export A='x y' B=\"2\" # no C=3", 4, set));
  CHECK(set.size() == 2);
  CHECK(set["A"].value == "x y");
  CHECK(set["B"].line == 4);
  CHECK_FALSE(doctor::read_assignments("python train.py --x=3", 1, set));
  const auto process =
      doctor::parse_environment_file(std::string("A=1\0NSA_X=two words\0", 20), "environ");
  CHECK(process.variables.at("NSA_X").value == "two words");
}

TEST_CASE("text of others is cut and cleaned", "[doctor]") {
  CHECK(doctor::clean("a\x1b[31m\x7f\xc2\x9b"
                      "b\n") == "a?[31m???b?");
  CHECK(doctor::clean("h\xc3\xa9llo") == "h\xc3\xa9llo");
  CHECK(doctor::clean(std::string(500, 'x')).size() == 203);
  CHECK(doctor::clean("aaaa\xc3\xa9", 5) == "aaaa...");
}

}  // namespace nsa::test
