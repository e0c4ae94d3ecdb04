// Checkpoints of run --train: saved, resumed, refused, and kept where training ends early.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "catch.hpp"
#include "program.hpp"
#include "text.hpp"
#include "train.hpp"

namespace nsa::test {

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

TEST_CASE("steps have the same bits with any number of threads", "[cli]") {
  const Folder folder;
  const auto saved = [&](const std::string& threads) {
    const std::string shape =
        "run --preset tiny --seq-len 150 --batch 2 --train --steps 2 --no-thresholds --no-db ";
    REQUIRE(nsatune(folder, shape + "--save s" + threads, "NSATUNE_THREADS=" + threads).exit_code ==
            0);
    return text_of(folder.file("s" + threads + "/checkpoint.safetensors"));
  };
  const std::string one = saved("1");
  CHECK(saved("2") == one);
  CHECK(saved("3") == one);
}

TEST_CASE("data that are gone end training with its result and a checkpoint", "[cli]") {
  const Folder folder;
  folder.write("text.bin", std::string(4000, 'x'));
  Result r = nsatune(folder, kTrain +
                                 "--steps 1000000 --data text.bin --save s --json "
                                 ">out 2>err & sleep 1.5; : >'" +
                                 folder.file("text.bin") + "'; wait $!");
  r.out = text_of(folder.file("out")), r.err = text_of(folder.file("err"));
  CHECK(r.exit_code == 4);
  CHECK(contains(r.err, "--data: text.bin: became shorter while it was read"));
  const Json document = json_of(r, "run_result");
  CHECK(document["training"]["stopped"].get<std::string>().find("became shorter") !=
        std::string::npos);
  CHECK(document["losses"].size() > 1);
  const std::string steps = std::to_string(document["losses"].size());
  CHECK(contains(r.err, "s/checkpoint.safetensors: step " + steps + "\n"));
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
  require_refused(folder, train + "file", 2, "file: is not a folder; name one for checkpoints");
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

}  // namespace nsa::test
