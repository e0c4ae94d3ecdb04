// run --train and memory, through the real program.
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "catch.hpp"
#include "program.hpp"
#include "sanitizers.hpp"
#include "text.hpp"

namespace nsa::test {
namespace {

const std::string kShape = " --preset tiny --seq-len 48 --layers 1 --train ";
const std::string kTrain = "run" + kShape + "--no-thresholds --no-db ";

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// One line on stderr, and this exit code.
void require_refused(const Folder& folder, const std::string& arguments, int code,
                     const std::string& part) {
  const Result result = nsatune(folder, arguments);
  INFO(arguments << "\n" << result.err);
  CHECK(result.exit_code == code);
  CHECK(result.out.empty());
  CHECK(contains(result.err, part));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

}  // namespace

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

TEST_CASE("a run that is saved goes on bit for bit", "[cli]") {
  const Folder folder;
  const auto losses = [&](const std::string& flags) {
    return json_of(nsatune(folder, kTrain + "--json " + flags), "run_result")["losses"];
  };
  const Json whole = losses("--steps 6 --save whole");
  losses("--steps 2 --save parts");
  const Json rest = losses("--steps 4 --resume parts --save parts");
  REQUIRE(rest.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(rest[i] == whole[i + 2]);
  CHECK(text_of(folder.file("parts/checkpoint.safetensors")) ==
        text_of(folder.file("whole/checkpoint.safetensors")));
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

TEST_CASE("data that cannot be trained on is refused in one line", "[cli]") {
  const Folder folder;
  folder.write("empty.bin", "");
  folder.write("short.bin", "abc");
  folder.write("wide.bin", std::string(200, '\x7f'));
  require_refused(folder, kTrain + "--data empty.bin", 2, "empty.bin is empty");
  require_refused(folder, kTrain + "--data short.bin", 2, "short.bin has 3 tokens");
  require_refused(folder, kTrain + "--data missing.bin", 2, "missing.bin");
  require_refused(folder, kTrain + "--data wide.bin --data-type u16", 2,
                  "token 32639 at 0 is not in the model's vocabulary of 256");
  folder.write("text.bin", std::string(400, 'x'));
  const Json result = json_of(
      nsatune(folder, kTrain + "--data text.bin --steps 30 --lr 1e-2 --json"), "run_result");
  CHECK(result["losses"][29] < 0.1 * result["losses"][0].get<double>());
}

TEST_CASE("a resumed run names what changes its bits", "[cli]") {
  const Folder folder;
  folder.write("text.bin", std::string(400, 'x'));
  folder.write("moved.bin", std::string(400, 'x'));
  REQUIRE(nsatune(folder, kTrain + "--steps 1 --data text.bin --save s").exit_code == 0);
  const auto said = [&](const std::string& flags, const std::string& variables = "") {
    return nsatune(folder, kTrain + "--steps 1 --resume s " + flags, variables).err;
  };
  CHECK(!contains(said("--data moved.bin"), "note: "));
  CHECK(contains(said("--data moved.bin --nondeterministic"), "note: deterministic was yes"));
  CHECK(contains(said("--data moved.bin", "NSA_FORCE_SEL_MASK=1"),
                 "note: row of forward attend_selected was "));
  CHECK(contains(said("--data moved.bin", "NSA_FORCE_UNIFORM_GATE=1"), "note: gate was "));
  folder.write("moved.bin", std::string(400, 'y'));
  CHECK(contains(said("--data moved.bin"), "note: data was 400 tokens of 1 bytes, hash "));
}

TEST_CASE("a file of data may have a name that is not UTF-8, and is saved under it", "[cli]") {
  const Folder folder;
  const std::string name = "t\xff.bin";
  folder.write(name, std::string(400, 'x'));
  CHECK(nsatune(folder, kTrain + "--steps 1 --json --save s --data '" + name + "'").exit_code == 0);
}

TEST_CASE("flags that do nothing in training, or nothing here, are refused", "[cli]") {
  const Folder folder;
  require_refused(folder, kTrain + "--warmup 2", 2, "drop --warmup");
  require_refused(folder, kTrain + "--allocator cudaMalloc", 2, "--device cpu has none");
  CHECK(nsatune(folder, kTrain + "--data-type u16").exit_code == 2);
  require_refused(folder, kTrain + "--lr-steps 10", 2, "a constant learning rate has no end");
  const Json ran = json_of(
      nsatune(folder, kTrain + "--steps 2 --json --save s --save-every 1 --memory-limit 1GB"),
      "run_result");
  CHECK(contains(ran["command"], " --save s --save-every 1 --memory-limit 1GB"));
}

TEST_CASE("a schedule's lengths are numbers of steps, and a rate falls where that is asked for",
          "[cli]") {
  const Folder folder;
  require_refused(folder, kTrain + "--lr-warmup -5", 2, "--lr-warmup: -5 is not between");
  require_refused(folder, kTrain + "--lr-steps -5", 2, "--lr-steps: -5 is not between");
  const std::string head =
      "model: {dim: 32, n_layers: 1, n_heads: 2, n_kv_groups: 1, d_k: 16, d_v: 16}\n"
      "runtime: {precision: fp32}\n";
  folder.write("bad.yaml", head + "train: {seq_len: 40, batch_size: 1, warmup_steps: -3}\n");
  const std::string run = "run --train --steps 1 --no-db --no-thresholds --json --config ";
  require_refused(folder, run + "bad.yaml", 2, "train.warmup_steps: -3 is not between");
  folder.write("steps.yaml", head + "train: {seq_len: 40, batch_size: 1, steps: 100}\n");
  const Json rate = json_of(nsatune(folder, run + "steps.yaml"), "run_result")["training"]["rate"];
  CHECK(rate["schedule"] == "constant");
}

TEST_CASE("flags that do not train are refused", "[cli]") {
  const Folder folder;
  require_refused(folder, kTrain + "--checkpoint 4-8", 2, "layer 8 is not there");
  require_refused(folder, kTrain + "--checkpoint 8-4", 2, "is not off, all");
  require_refused(folder, kTrain + "--lr-schedule cosine", 2, "--lr-steps");
  require_refused(folder, kTrain + "--lr-schedule cosine --lr-steps 10 --lr-warmup 20", 2,
                  "cosine needs more steps than the 20 of --lr-warmup");
  require_refused(folder, kTrain + "--resume nowhere", 2, "nowhere/checkpoint.safetensors");
  require_refused(folder, kTrain + "--memory-limit 1MB", 4, "--memory-limit is 1 MB; take");
  require_refused(folder, kTrain + "--memory-limit lots", 2, "is not a size");
  require_refused(folder, kTrain + "--allocator cudaMallocAsync", 2, "--device cpu has none");
  require_refused(folder, kTrain + "--allocator cudaMalloc --pool-keep 1GiB", 2,
                  "only a pool keeps memory");
  CHECK(nsatune(folder, "run --preset tiny --data x").exit_code == 2);  // without --train
  require_refused(folder, kTrain + "--attention dense_sdpa", 2,
                  "a CPU has no cuDNN; take --attention dense");
  require_refused(folder, "run --preset tiny --no-db --attention dense_sdpa", 2, "no cuDNN");
  require_refused(folder, "run --preset layer --train --no-db", 2, "one attention layer");
}

TEST_CASE("a loss that is not finite names its step and tensor, and keeps the checkpoint before",
          "[cli]") {
  const Folder folder;
  REQUIRE(nsatune(folder, kTrain + "--steps 2 --save kept").exit_code == 0);
  const std::string before = text_of(folder.file("kept/checkpoint.safetensors"));
  // A rate that no weight survives.
  const Result ran = nsatune(
      folder, kTrain + "--steps 20 --lr 1e3 --clip 0 --dtype fp16 --no-masters --save other");
  INFO(ran.err);
  CHECK(ran.exit_code == 1);
  CHECK(contains(ran.err, "the first tensor that is not finite: "));
  CHECK(contains(ran.err, "run --train: step "));
  CHECK(text_of(folder.file("kept/checkpoint.safetensors")) == before);
  CHECK(text_of(folder.file("other/checkpoint.safetensors")).empty());
}

TEST_CASE("the users' config says how it is trained", "[cli]") {
  const Folder folder;
  folder.write("users.yaml",
               "model: {dim: 32, n_layers: 2, n_heads: 2, n_kv_groups: 1, d_k: 16, d_v: 16}\n"
               "runtime: {precision: fp32, gradient_checkpointing: true}\n"
               "train: {seq_len: 40, batch_size: 2, lr: 1.0e-3, warmup_steps: 2, steps: 100,\n"
               "  lr_schedule: cosine, weight_decay: 0.01, grad_clip: 0.5,\n"
               "  accumulate_grad_batches: 2}\n");
  const Result ran =
      nsatune(folder, "run --config users.yaml --train --steps 3 --no-db --no-thresholds --json");
  REQUIRE(ran.exit_code == 0);
  CHECK(!contains(ran.err, "no effect here"));
  const Json training = json_of(ran, "run_result")["training"];
  CHECK(training["checkpoint"] == "0-1");
  CHECK(training["accumulate"] == 2);
  CHECK(training["rate"]["schedule"] == "cosine");
  CHECK(training["rate"]["total_steps"] == 100);
  CHECK(training["optimizer"]["max_norm"] == 0.5);
  folder.write("bad.yaml", "train: {lr: fast}\n");
  require_refused(folder, "run --config bad.yaml --train --no-db", 2, "bad.yaml:1: train.lr");
}

TEST_CASE("memory says what fits, by parts", "[cli]") {
  const Folder folder;
  const std::string ask = "memory --preset tiny --seq-len 64 --train --no-thresholds --json ";
  const Json plain = json_of(nsatune(folder, ask), "memory");
  std::int64_t sum = 0;
  for (const auto& [name, bytes] : plain["parts"].items()) sum += bytes.get<std::int64_t>();
  CHECK(plain["peak_bytes"] == sum);
  const std::string limit = "--limit " + std::to_string(3 * sum);
  const Json fits = json_of(nsatune(folder, ask + limit), "memory");
  CHECK(fits["fits"] == true);
  const std::int64_t batch = fits["largest_batch"];
  const auto peak_of = [&](std::int64_t n) {
    return json_of(nsatune(folder, ask + "--batch " + std::to_string(n)), "memory")["peak_bytes"]
        .get<std::int64_t>();
  };
  CHECK(peak_of(batch) <= 3 * sum);
  CHECK(peak_of(batch + 1) > 3 * sum);
  const Result no = nsatune(folder, ask + "--limit 1000");
  CHECK(no.exit_code == 1);
  CHECK(json_of(no, "memory")["largest_batch"].is_null());
  const std::string words =
      nsatune(folder, "memory --preset tiny --seq-len 64 --train --no-thresholds --limit 1000").out;
  INFO(words);
  CHECK(words.find("DOES NOT FIT 1000 B; room neither for a batch of one at this length nor for "
                   "sequences of one token at this batch\n") != std::string::npos);
  const Result large = nsatune(folder, "memory --preset tiny --seq-len 16M --batch 65536");
  CHECK(large.exit_code == 2);
  CHECK(large.err.starts_with("nsatune: --batch: 65536 sequences of 16777216 tokens"));
  CHECK(json_of(nsatune(folder, "memory --preset tiny --json"), "memory")["parts"]["gradients"] ==
        0);
}

TEST_CASE("memory names the largest that can be asked for as that", "[cli]") {
  const Folder folder;
  const std::string ask = "memory --preset tiny --train --no-thresholds --limit 9000TB --seq-len ";
  const Json most = json_of(nsatune(folder, ask + "65536 --json"), "memory");
  CHECK(most["largest_batch"] == 32768);  // 2^31 tokens
  CHECK(most["most_batch"] == 32768);
  CHECK(most["most_seq_len"] == std::int64_t{1} << 24);
  CHECK(contains(nsatune(folder, ask + "64").out,
                 "batch of 65536 at this length (more cannot be asked for)"));
}

TEST_CASE("memory predicts a forward pass, and run measures it", "[cli]") {
  const Folder folder;
  for (const std::string shape : {"--seq-len 700 --batch 2 --attention dense",
                                  "--seq-len 700 --batch 2 --dtype bf16", "--seq-len 16"}) {
    const std::string asked = " --preset tiny --no-thresholds --json " + shape;
    const Json memory = json_of(nsatune(folder, "memory" + asked), "memory");
    const Json ran = json_of(nsatune(folder, "run --no-db" + asked), "run_result");
    INFO(shape << " " << ran["memory"]);
    const double predicted = memory["peak_bytes"], measured = ran["peak_bytes"];
    CHECK(ran["memory"]["predicted_bytes"] == memory["peak_bytes"]);
    CHECK(ran["telemetry"]["grow_events"] == 0);
    CHECK(predicted / measured > 0.95);
    CHECK(predicted / measured < 1.05);
  }
}

TEST_CASE("a file size limit ends a checkpoint with a sentence", "[cli]") {
  const Folder folder;
  folder.write("limited", "#!/bin/sh\nulimit -f 200\nexec \"$@\"\n");
  std::filesystem::permissions(folder.file("limited"), std::filesystem::perms::owner_all);
  const Result result = nsatune(
      folder, "run --preset tiny --layers 1 --seq-len 16 --train --steps 1 --save s --no-db",
      folder.file("limited"));
  INFO(result.err);
  CHECK(result.exit_code == 4);
  CHECK(result.err.find("cannot be written: File too large") != std::string::npos);
}

TEST_CASE("a checkpoint that cannot be written costs neither the steps nor their result", "[cli]") {
  const Folder folder;
  folder.write("limited", "#!/bin/sh\nulimit -f 2000\nexec \"$@\"\n");
  std::filesystem::permissions(folder.file("limited"), std::filesystem::perms::owner_all);
  const Result ran = nsatune(folder,
                             "run" + kShape +
                                 "--no-thresholds --steps 5 --save s --save-every 2 --db a.sqlite "
                                 "--json --heartbeat beats.jsonl",
                             folder.file("limited"));
  INFO(ran.err);
  CHECK(ran.exit_code == 4);
  const Json result = json_of(ran, "run_result");
  CHECK(result["losses"].size() == 5);
  CHECK(contains(ran.err, "step 2 is not saved: "));
  CHECK(contains(ran.err, "step 4 is not saved: "));
  CHECK(contains(ran.err, "run --train: step 5 is not saved: "));
  const Json past =
      json_of(nsatune(folder, "report results --json --db a.sqlite"), "report_results");
  CHECK(past["runs"][0]["run_results"][0] == result);
}

TEST_CASE("a folder that no checkpoint can be written to is refused before the first step",
          "[cli]") {
  const Folder folder;
  folder.write("file", "");
  std::filesystem::create_directories(folder.file("taken/checkpoint.safetensors"));
  const std::string train = kTrain + "--steps 1000000 --save ";
  require_refused(folder, train + "file", 4, "file: cannot be made: ");
  require_refused(folder, train + "taken", 4, "checkpoint.safetensors: cannot be written: ");
  std::filesystem::create_directory(folder.file("pipe"));
  REQUIRE(::mkfifo(folder.file("pipe/checkpoint.safetensors").c_str(), 0600) == 0);
  require_refused(folder, train + "pipe", 2, "checkpoint.safetensors: is not a regular file; ");
  REQUIRE(::mkfifo(folder.file("beats").c_str(), 0600) == 0);
  require_refused(folder, train + "new --heartbeat beats", 2, "beats: is not a regular file; ");
}

TEST_CASE("Ctrl-C ends training with a checkpoint", "[cli]") {
  const Folder folder;
  // The shell sends the signal as soon as a heartbeat says that steps run.
  const std::string command =
      "cd " + folder.path().string() + " && { \"" NSATUNE_PROGRAM "\" " + kTrain +
      "--steps 1000000 --save stopped --heartbeat beats.jsonl > out.txt 2> err.txt & pid=$!; "
      "while ! grep -q progress beats.jsonl 2>/dev/null; do sleep 0.05; done; "
      "kill -INT $pid; wait $pid; echo $? > code.txt; }";
  // A shell without job control starts background commands with SIGINT ignored; `sh -m` has it.
  folder.write("stop.sh", command);
  REQUIRE(std::system(("sh -m " + folder.file("stop.sh")).c_str()) == 0);
  CHECK(text_of(folder.file("code.txt")) == "130\n");
  CHECK(contains(text_of(folder.file("out.txt")), "STOPPED: a signal"));
  CHECK(!text_of(folder.file("stopped/checkpoint.safetensors")).empty());
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
