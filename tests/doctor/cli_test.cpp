// `nsatune doctor` as a user runs it, over files.
#include <filesystem>
#include <fstream>

#include "../trace/traces.hpp"
#include "catch.hpp"
#include "fixtures.hpp"
#include "nsa/doctor/rule.hpp"
#include "nsa/reports/doctor_text.hpp"

namespace nsa::test {
namespace {

const std::string kSlow = "WARNING: Using slow _sdpa_over_ranges\n";

}  // namespace

TEST_CASE("files are recognised by what they hold, whatever their names", "[doctor]") {
  const Folder folder;
  const Fixture clean("_clean");
  const auto copy = [&](const char* from, const char* to) {
    std::filesystem::copy_file(clean.folder().file(from), folder.file(to));
  };
  copy("train.yaml", "a");
  copy("run.log", "b");
  copy("heartbeat_rank0.jsonl", "c");
  copy("trace.json.gz", "d");
  copy("load.jsonl", "e");
  copy("env", "f");
  const Json document = json_of(nsatune(folder, "doctor a b c d e f --json"), "doctor");
  CHECK(document["judged"].size() == 6);
  CHECK(document["findings"].empty());
}

TEST_CASE("a log of objects is judged as a log, a lone object is not one", "[doctor]") {
  const Folder folder;
  std::string slow, words;
  for (int i = 0; i < 40; ++i) {
    slow += R"({"step": 1, "loss": 5.7, "tok_per_s": 3.5})"
            "\n";
    words += R"({"level":"INFO","message":"step 1"})"
             "\n";
  }
  folder.write("slow.jsonl", slow);
  folder.write("words.jsonl", words);
  folder.write("one.json", R"({"step": 1, "loss": 5.7})");
  CHECK(rules_of(json_of(nsatune(folder, "doctor --json slow.jsonl"), "doctor")) ==
        std::set<std::string>{"log_collapsed"});
  const Json said = json_of(nsatune(folder, "doctor --json words.jsonl"), "doctor");
  CHECK(said["judged"] == Json{"log"});
  CHECK(nsatune(folder, "doctor one.json").exit_code == 2);
}

TEST_CASE("a config is read through its merge keys and by Lightning's names", "[doctor]") {
  const Folder folder;
  folder.write("merged.yaml",
               "defaults: &d {precision: fp32, gradient_checkpointing: true}\n"
               "runtime:\n  <<: *d\n  gradient_checkpointing: false\nnsa: {l: 32}\n");
  folder.write("lightning.yaml", "trainer: {precision: 32-true}\n");
  folder.write("foreign.yaml", "optimizer: {lr: 0.1}\n");
  const auto rules = [&](const std::string& file) {
    return rules_of(json_of(nsatune(folder, "doctor --json --env-file env " + file), "doctor"));
  };
  folder.write("env",
               "PATH=/bin NSA_FORCE_SEL_MASK=1 NSA_PREFILL_BATCHED=1 "
               "NSA_DISABLE_AUX_STATS=1 "
               "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n");
  CHECK(rules("merged.yaml") == std::set<std::string>{"config_precision"});
  CHECK(rules("lightning.yaml") == std::set<std::string>{"config_precision"});
  folder.write("slip.yaml", "modle: {dim: 64}\nnsa: {l: 32}\nruntime: {precison: fp32}\n");
  const Result slip = nsatune(folder, "doctor --env-file env slip.yaml");
  CAPTURE(slip.out);
  CHECK(slip.out.find("modle: no such key; did you mean model?") != std::string::npos);
  CHECK(slip.out.find("runtime.precison: no such key; did you mean runtime.precision?") !=
        std::string::npos);
  CHECK(slip.out.find("nsa.l:") == std::string::npos);
  CHECK(nsatune(folder, "doctor --env-file env lightning.yaml").out.find("no such key") ==
        std::string::npos);
  const Result foreign = nsatune(folder, "doctor foreign.yaml");
  CHECK(foreign.exit_code == 3);
  CHECK(foreign.out.find("not judged: foreign.yaml") != std::string::npos);
}

TEST_CASE("the environment is judged where a run starts from it, not beside what was recorded",
          "[doctor]") {
  const Folder folder;
  folder.write("run.log", "all is well\n");
  folder.write("train.yaml", "nsa: {l: 32}\n");
  const std::string bad = "CUDA_LAUNCH_BLOCKING=1";
  const auto found = [&](const std::string& arguments, const std::string& environment) {
    return rules_of(json_of(nsatune(folder, "doctor --json " + arguments, environment), "doctor"));
  };
  CHECK(found("", bad).contains("launch_blocking"));
  CHECK(found("train.yaml", bad).contains("launch_blocking"));
  CHECK(found("-q -- true", bad).contains("launch_blocking"));
  CHECK(found("run.log", bad).empty());
  CHECK(found("", "").empty());
  CHECK(found("", "NSA_NVTX=0").contains("masked_switch_off"));  // ours: unset counts
  CHECK(found("train.yaml", "").contains("masked_switch_off"));
}

TEST_CASE("the shipped production config with its env file has no finding about a kernel's path",
          "[doctor]") {
  const Folder folder;
  const std::string example =
      std::string(NSA_SOURCE_DIR) + "/examples/nsa_vibe/m7c_125m_2xa100_production";
  const Json document =
      json_of(nsatune(folder, "doctor --json " + example + ".yaml " + example + ".env"), "doctor");
  for (const Json& finding : document["findings"]) {
    CAPTURE(finding.dump());
    CHECK(finding["severity"] != "critical");
  }
  // What the users' own file asks for, and what no measurement decides.
  CHECK(rules_of(document) ==
        std::set<std::string>{"aux_statistics", "config_checkpointing", "allocator"});
}

TEST_CASE("variables at the front of a log line are judged", "[doctor]") {
  const Folder folder;
  folder.write("run.log", "+ NSA_FORCE_SEL_MASK=0 NSA_PREFILL_BATCHED=1 python train.py\nloss=3\n");
  const Json document = json_of(nsatune(folder, "doctor run.log --json"), "doctor");
  CHECK(rules_of(document) == std::set<std::string>{"masked_switch_off"});
  const Json& fact = document["findings"][0]["evidence"][0];
  CHECK(fact["variable"] == "NSA_FORCE_SEL_MASK");
  CHECK(fact["value"] == "0");
  CHECK(fact["line"] == 1);
}

TEST_CASE("what a shell puts into a value is read where it can be, and else not judged",
          "[doctor]") {
  const Folder folder;
  const auto judged = [&](const std::string& line) {
    folder.write("start.sh",
                 "export NSA_PREFILL_BATCHED=1 NSA_DISABLE_AUX_STATS=1 "
                 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" +
                     line + "\n");
    return json_of(nsatune(folder, "doctor --json --env-file start.sh"), "doctor");
  };
  for (const char* on :
       {"export NSA_FORCE_SEL_MASK=\"${NSA_FORCE_SEL_MASK:-1}\"", "NSA_FORCE_SEL_MASK=${X:=1}"}) {
    const Json document = judged(on);
    CHECK(document["findings"].empty());
    CHECK(document["not_judged"].empty());
  }
  for (const char* off :
       {"NSA_FORCE_SEL_MASK=${X:-0}", "NSA_FORCE_SEL_MASK='$X'", "X=0\nNSA_FORCE_SEL_MASK=${X:-1}"})
    CHECK(rules_of(judged(off)).contains("masked_switch_off"));
  for (const char* unknown : {"NSA_FORCE_SEL_MASK=$X", "NSA_FORCE_SEL_MASK=\"${X:-$Y}\"",
                              "NSA_FORCE_SEL_MASK=`cat mask`", "NSA_FORCE_SEL_MASK=${X-}"}) {
    CAPTURE(unknown);
    const Json document = judged(unknown);
    CHECK(document["findings"].empty());
    REQUIRE(document["not_judged"].size() == 1);
    CHECK(document["not_judged"][0]["whole"] == false);
    CHECK(document["not_judged"][0]["reason"].get<std::string>().find("NSA_FORCE_SEL_MASK") == 0);
  }
}

TEST_CASE("a database of a newer nsatune is named as one", "[doctor]") {
  const Folder folder;
  const char* make = "run --preset tiny --seq-len 8 --layers 1 --steps 1 --db newer.sqlite";
  REQUIRE(nsatune(folder, make).exit_code == 0);
  {
    std::fstream file(folder.file("newer.sqlite"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(63);  // the last byte of user_version
    file.put(99);
  }
  const Result newer = nsatune(folder, "doctor newer.sqlite");
  CHECK(newer.exit_code == 2);
  CHECK(newer.err.find("has schema version 99") != std::string::npos);
}

TEST_CASE("a finding is printed with its rule, source, place, gain and advice", "[doctor]") {
  const Folder folder;
  folder.write("run.log", "start\n" + kSlow + kSlow);
  const Result plain = nsatune(folder, "doctor run.log --color never");
  CHECK(plain.exit_code == 1);
  CHECK(plain.err.empty());
  for (const char* part : {"critical", "log_slow_path", "report 004:85", "run.log:2: WARNING", "2x",
                           "gain  ", "do    export NSA_FORCE_SEL_MASK=1", "1 finding ("}) {
    CAPTURE(part);
    CHECK(plain.out.find(part) != std::string::npos);
  }
  CHECK(plain.out.find('\x1b') == std::string::npos);
  CHECK(nsatune(folder, "doctor run.log --color always").out.find('\x1b') != std::string::npos);
  CHECK(nsatune(folder, "doctor run.log").out.find('\x1b') == std::string::npos);
}

TEST_CASE("doctor --help has examples and the exit codes", "[doctor]") {
  const Result help = nsatune(Folder(), "doctor --help");
  CHECK(help.exit_code == 0);
  CHECK(help.out.find("Examples:") != std::string::npos);
  CHECK(help.out.find("Exit code 0: nothing found; 1: findings; 2: bad input") !=
        std::string::npos);
}

TEST_CASE("doctor --list prints the table, and docs/doctor.md is that table", "[doctor]") {
  const Folder folder;
  const Result text = nsatune(folder, "doctor --list");
  CHECK(text.exit_code == 0);
  const Json rules = json_of(nsatune(folder, "doctor --list --json"), "doctor_rules")["rules"];
  REQUIRE(rules.size() == doctor::rules().size());
  for (const Json& rule : rules)
    CHECK(text.out.find(rule["id"].get<std::string>()) != std::string::npos);
  INFO("after a change of the table run: nsatune doctor --list --markdown > docs/doctor.md");
  CHECK(read_text_file(std::string(NSA_SOURCE_DIR) + "/docs/doctor.md") ==
        reports::doctor_markdown());
  CHECK(nsatune(folder, "doctor --list --markdown").out == reports::doctor_markdown());
}

TEST_CASE("the trace of the users' training: host synchronisations and an idle GPU", "[doctor]") {
  const char* data = std::getenv("NSATUNE_EXTERNAL_DATA");
  if (!data) {
    WARN("skipped: NSATUNE_EXTERNAL_DATA is not set");
    return;
  }
  const Folder folder;
  const std::string trace =
      std::string(data) + "/traces/h200_nsa_train_masked_S2048_2steps.json.gz";
  const Json document = json_of(nsatune(folder, "doctor --json " + trace), "doctor");
  for (const Json& finding : document["findings"]) {
    if (finding["rule"] == "trace_idle_gpu")
      CHECK(finding["gain"]["at_most_ns"] == 460319126 - 4565809);  // the profiler's own
    if (finding["rule"] != "trace_host_syncs") continue;
    CHECK(finding["evidence"][0]["what"] == "cudaStreamSynchronize in aten::unique_consecutive");
    CHECK(finding["evidence"][0]["count"] == 48);
    CHECK(finding["evidence"][0]["event_ids"].size() == 3);
  }
  CHECK(rules_of(document).contains("trace_idle_gpu"));
  CHECK(rules_of(document).contains("trace_host_syncs"));
  CHECK(rules_of(document).contains("trace_host_loop"));
}

namespace {

/// Ten steps of 2 ms of a rank ("": it is not stated) that is late by so much: a kernel, and a
/// collective that ends on all ranks at once.
std::string of_rank(const std::string& rank, const std::string& world_size, double late_us = 0,
                    std::int64_t days = 0) {
  JsonTrace t;
  for (int step = 0; step < 10; ++step) {
    const double at = 2000.0 * step;
    t.range("ProfilerStep#" + std::to_string(step), at, 1990);
    t.launched("gemm", 2 * step + 1, at + 10 + late_us, at + 30 + late_us, 800);
    t.launched("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 2 * step + 2, at + 105,
               at + 900 + late_us, 600 - late_us, 20);
  }
  const std::int64_t base = 1'700'000'000'000'000'000 + days * 86'400'000'000'000;
  const std::string job =
      "\"distributedInfo\": {\"rank\": " + rank + ", \"world_size\": " + world_size + "}, ";
  return "{" + (rank.empty() ? "" : job) + "\"baseTimeNanoseconds\": " + std::to_string(base) +
         ", " + t.text().substr(1);
}

}  // namespace

TEST_CASE("traces that cannot be ranks of one job are judged alone, and it is said why",
          "[doctor]") {
  const Folder folder;
  folder.write("r0.json", of_rank("0", "2"));
  const auto doctor = [&](const std::string& other) {
    folder.write("other.json", other);
    return json_of(nsatune(folder, "doctor --json r0.json other.json"), "doctor");
  };
  for (const auto& [other, reason] :
       {std::pair{of_rank("0", "2"), "is of rank 0, and so is"},
        std::pair{of_rank("1", "4"), "is of a job of 4 ranks"},
        std::pair{of_rank("5", "2"), "says that it is rank 5 of 2"},
        std::pair{of_rank("1", "2", 0, 3), " days after the end of "}}) {
    CAPTURE(reason);
    const Json document = doctor(other);
    REQUIRE(document["not_judged"].size() == 1);
    CHECK(document["not_judged"][0]["source"].get<std::string>().ends_with("other.json"));
    CHECK(document["not_judged"][0]["reason"].get<std::string>().find(reason) != std::string::npos);
    CHECK(document["not_judged"][0]["whole"] == false);
    REQUIRE(document["findings"].size() > 1);
    for (const Json& finding : document["findings"])
      CHECK(finding["message"].get<std::string>().find("2 traces") == std::string::npos);
  }
  CHECK(doctor(of_rank("1", "2"))["not_judged"].empty());
  // Those that do not say their ranks are compared, too.
  for (const auto& [first, other] : {std::pair{of_rank("", "", 0), of_rank("", "", 0, 3)},
                                     std::pair{of_rank("0", "2"), of_rank("", "", 0, 3)},
                                     std::pair{of_rank("", "", 0), of_rank("1", "2", 0, 3)}}) {
    folder.write("r0.json", first);
    const Json document = doctor(other);
    REQUIRE(document["not_judged"].size() == 1);
    CHECK(document["not_judged"][0]["reason"].get<std::string>().find(
              "begins 2 days after the end of ") != std::string::npos);
    for (const Json& finding : document["findings"])
      CHECK(finding["message"].get<std::string>().find("2 traces") == std::string::npos);
  }
}

TEST_CASE("a rank's communication is its own, with what it waited for the others", "[doctor]") {
  const Folder folder;
  folder.write("r0.json", of_rank("0", "2"));
  folder.write("r1.json", of_rank("1", "2", 300));
  const auto first_fact = [&](const std::string& files) {
    const Json document = json_of(nsatune(folder, "doctor --json " + files), "doctor");
    for (const Json& finding : document["findings"])
      if (finding["rule"] == "trace_exposed_comm") return finding["evidence"][0];
    return Json();
  };
  for (const char* files : {"r0.json r1.json", "r1.json r0.json"}) {
    const Json fact = first_fact(files);
    CHECK(fact["source"] == "r0.json");
    CHECK(fact["count"] == 10);
    CHECK(fact["ns"] == 10 * 600'000);  // the other's 10 times 300 us are not in it
    CHECK(fact["what"].get<std::string>().find("of it 3 ms waiting") != std::string::npos);
  }
}

TEST_CASE("a rank that is waited for half of what communication costs is named", "[doctor]") {
  const Folder folder;
  folder.write("r0.json", of_rank("0", "2"));
  const auto advice = [&](double late_us) {
    folder.write("r1.json", of_rank("1", "2", late_us));
    const Json document = json_of(nsatune(folder, "doctor --json r0.json r1.json"), "doctor");
    for (const Json& finding : document["findings"])
      if (finding["rule"] == "trace_exposed_comm") return finding["advice"].get<std::string>();
    return std::string();
  };
  CHECK(advice(300).find("waiting for rank 1, which came last in 10 of 10") != std::string::npos);
  CHECK(advice(200).find("larger gradient buckets") != std::string::npos);
}

TEST_CASE("a finding of several traces names the rank, where traces say theirs", "[doctor]") {
  const Folder folder;
  folder.write("r0.json", of_rank("0", "2"));
  folder.write("r1.json", of_rank("1", "2", 300));
  const auto message = [&](const std::string& files, const std::string& rule) {
    const Json document = json_of(nsatune(folder, "doctor --json " + files), "doctor");
    for (const Json& finding : document["findings"])
      if (finding["rule"] == rule) return finding;
    return Json();
  };
  const Json idle = message("r1.json r0.json", "trace_idle_gpu");
  REQUIRE_FALSE(idle.is_null());
  CHECK(idle["message"].get<std::string>().starts_with(
      "in 2 of 2 traces; most in rank 1 (r1.json): "));
  CHECK(idle["evidence"].back()["what"].get<std::string>().starts_with("rank 0: "));
}

TEST_CASE("what all ranks share is one finding", "[doctor]") {
  const Folder folder;
  const std::string trace = fixtures_folder() + "/trace_exposed_comm/red/trace.json.gz";
  for (const char* rank : {"rank0.json.gz", "rank1.json.gz"})
    std::filesystem::copy_file(trace, folder.file(rank));
  const Json document = json_of(nsatune(folder, "doctor --json " + folder.file("rank0.json.gz") +
                                                    " " + folder.file("rank1.json.gz")),
                                "doctor");
  int found = 0;
  for (const Json& finding : document["findings"]) {
    if (finding["rule"] != "trace_exposed_comm") continue;
    ++found;
    CHECK(finding["message"].get<std::string>().starts_with("in 2 of 2 traces; most in "));
    CHECK(finding["evidence"].back()["source"].get<std::string>().ends_with("rank1.json.gz"));
  }
  CHECK(found == 1);
}

}  // namespace nsa::test
