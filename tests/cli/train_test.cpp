// run --train through the real program: what it learns, takes and says.
#include <sys/wait.h>

#include <cstdlib>
#include <map>

#include "catch.hpp"
#include "program.hpp"
#include "sanitizers.hpp"
#include "text.hpp"
#include "train.hpp"

namespace nsa::test {

TEST_CASE("run --train learns, and says what it took", "[cli]") {
  const Folder folder;
  const Result ran = nsatune(folder, "run" + kShape +
                                         "--no-thresholds --steps 40 --batch 2 --lr 3e-3 --json "
                                         "--heartbeat beats.jsonl");
  REQUIRE(ran.exit_code == 0);
  const Json result = json_of(ran, "run_result");
  CHECK(result["direction"] == "training");
  REQUIRE(result["losses"].size() == 40);
  CHECK(result["losses"][39] < 0.9 * result["losses"][0].get<double>());
  CHECK(result["tokens_per_step"] == 96);
  CHECK(result["step_ns"].size() == 39);  // the first is apart
  CHECK(result["tokens_per_s"] > 0);
  const double peak = result["peak_bytes"], predicted = result["training"]["predicted_bytes"];
  CHECK(predicted / peak > 0.95);
  CHECK(predicted / peak < 1.05);
  CHECK(result["training"]["grow_events"] == 0);
  bool backward = false, optimizer = false;
  for (const Json& one : result["engaged"]) backward = backward || one.contains("direction");
  for (const Json& part : result["training"]["times"])
    optimizer = optimizer || (part["part"] == "adamw" && part["ns"] > 0);
  CHECK(backward);
  CHECK(optimizer);
  CHECK(contains(text_of(folder.file("beats.jsonl")), "\"loss\":"));

  const Json past = json_of(nsatune(folder, "report results --json"), "report_results");
  CHECK(past["runs"][0]["run_results"][0] == result);
  CHECK(nsatune(folder, "report results").exit_code == 0);
  const Json memory = json_of(nsatune(folder, "memory" + kShape + "--batch 2 --json"), "memory");
  CHECK(memory["peak_bytes"] == result["training"]["predicted_bytes"]);
}

TEST_CASE("a step runs what was tuned for launches that save", "[cli]") {
  const Folder folder;
  folder.write("saving.json", R"({"schema_version": 1, "name": "saving", "families": [{
      "name": "training_forward",
      "base": {"direction": "forward_saving", "q_heads": 8, "kv_heads": 2, "head_dim_k": 32,
               "head_dim_v": 32},
      "axes": {"seq_len": [40, 56]}, "stages": ["attend_window"], "variants": ["sdpa_math"]}]})");
  REQUIRE(nsatune(folder, "sweep saving.json --db s.db").exit_code == 0);
  REQUIRE(nsatune(folder, "tune --db s.db -o t.json").exit_code == 0);
  const Json table = Json::parse(text_of(folder.file("t.json")));
  REQUIRE(table["classes"].size() == 1);
  CHECK(table["classes"][0]["problem_class"]["direction"] == "forward_saving");
  const auto window_row = [&](const std::string& flags) {
    const Json ran = json_of(nsatune(folder, "run" + kShape + "--no-db --steps 2 --json " + flags),
                             "run_result");
    for (const Json& one : ran["engaged"]) {
      if (one["stage"] == "attend_window" && !one.contains("direction"))
        return one["variant"].get<std::string>();
    }
    return std::string("nothing");
  };
  CHECK(window_row("--thresholds t.json") == "sdpa_math");
  CHECK(window_row("--no-thresholds") != "sdpa_math");
}

TEST_CASE("checkpointed layers take less memory and give the same losses", "[cli]") {
  const Folder folder;
  const std::string run =
      "run --preset tiny --seq-len 384 --train --no-thresholds --no-db --json "
      "--steps 2 ";  // shorter ones take less than the gradients that lie in their place
  const Json off = json_of(nsatune(folder, run), "run_result");
  const Json all = json_of(nsatune(folder, run + "--checkpoint all"), "run_result");
  CHECK(off["losses"] == all["losses"]);
  CHECK(all["peak_bytes"] < off["peak_bytes"]);
  CHECK(all["training"]["checkpoint"] == "0-1");
}

TEST_CASE("the forward pass of checkpointed layers, run again, is a phase of its own", "[cli]") {
  const Folder folder;
  const auto calls = [&](const std::string& flags) {
    const Json ran = json_of(nsatune(folder,
                                     "run --preset tiny --seq-len 48 --train --accumulate 2 "
                                     "--no-thresholds --no-db --json --steps 2 " +
                                         flags),
                             "run_result");
    std::map<std::string, std::map<std::string, int>> of_phase;
    for (const Json& part : ran["training"]["times"])
      of_phase[part["phase"]][part["part"]] = part["calls"].get<int>();
    return of_phase;
  };
  const auto off = calls("");
  CHECK(off.count("recompute") == 0);
  CHECK(off.at("forward").at("attend_selected") == 2 * 2);
  auto some = calls("--checkpoint 1-1");
  CHECK(some.at("recompute").at("attend_selected") == 2);
  CHECK(some.at("recompute").at("norm") == 2 * 2);
  CHECK(some.at("recompute").count("embed") == 0);
  some.erase("recompute");
  CHECK(some == off);

  const std::string text =
      nsatune(folder, "run" + kShape + "--no-thresholds --no-db --steps 2 --checkpoint all").out;
  CHECK(contains(text, "\n  recompute "));
}

TEST_CASE("an out-of-memory ends training with a result: before its steps, and between them",
          "[cli]") {
  if (kThreadSanitizer || kAddressSanitizer) return;  // their memory would be under the limit too
  const Folder folder;
  // Each step allocates its tokens, more than the heap has free in one piece; from the first
  // heartbeat on there is no room for them.
  folder.write(
      "starve.py",
      "import json, os, resource, subprocess, sys, time\n"
      "run = subprocess.Popen(sys.argv[1:], stdout=open('out.txt', 'w'),\n"
      "                       stderr=open('err.txt', 'w'))\n"
      "while run.poll() is None and not (os.path.exists('beats.jsonl') and\n"
      "                                  open('beats.jsonl').readline().endswith('\\n')):\n"
      "    time.sleep(0.01)\n"
      "pages = int(open(f'/proc/{run.pid}/statm').read().split()[0])\n"
      "used = pages * resource.getpagesize()\n"
      "resource.prlimit(run.pid, resource.RLIMIT_AS, (used - 2**20, used - 2**20))\n"
      "sys.exit(run.wait())\n");
  const auto run = [&](const std::string& command) {
    return WEXITSTATUS(std::system(
        ("cd " + folder.path().string() + " && NSATUNE_DB=a.sqlite " + command).c_str()));
  };
  const std::string train = "\"" NSATUNE_PROGRAM "\" run" + kShape +
                            "--device cpu --share --no-thresholds --json --quiet ";
  // Every allocation of more than 4 kB is one of the system's, whatever was freed before.
  CHECK(run("MALLOC_MMAP_THRESHOLD_=4096 python3 starve.py " + train +
            "--batch 256 --steps 1000000 --heartbeat beats.jsonl") == 4);
  INFO(text_of(folder.file("err.txt")));
  CHECK(contains(text_of(folder.file("err.txt")), "run --train: out of memory after "));
  const Json ran = json_of({4, text_of(folder.file("out.txt")), ""}, "run_result");
  CHECK(contains(ran["training"]["stopped"], "out of memory after "));
  CHECK(ran["losses"].size() > 0);
  CHECK(ran["tokens_per_s"] > 0);
  CHECK(ran["peak_bytes"] > 1'000'000);

  const int early = run("sh -c 'ulimit -v 4000000; " + train +
                        "--batch 20000 --memory-limit 1TB > out.txt 2> err.txt'");
  CHECK(early == 4);
  CHECK(contains(text_of(folder.file("err.txt")), "out of memory before the first step: "));
  const Json refused = json_of({4, text_of(folder.file("out.txt")), ""}, "run_result");
  CHECK(refused["losses"].empty());

  const Json past =
      json_of(nsatune(folder, "report results --json --db a.sqlite"), "report_results");
  CHECK(past["runs"][0]["run_results"][0] == refused);
  CHECK(json_of(nsatune(folder, "db info --json --db a.sqlite"), "db_info")["run_results"] == 2);
}

}  // namespace nsa::test
