// What run --train is told by flags, configs and data, and what it refuses.
#include "catch.hpp"
#include "program.hpp"
#include "text.hpp"
#include "train.hpp"

namespace nsa::test {

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
  require_refused(folder, kTrain + "--resume nowhere", 2,
                  "nowhere/checkpoint.safetensors is not there; name a folder that --save has");
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
  folder.write("twice.yaml", "train: {lr: 0.1, lr: 0.2}\n");
  require_refused(folder, "run --config twice.yaml --train --no-db", 2,
                  "twice.yaml:1: train.lr appears twice");
  folder.write("parts.yaml", "train: {lr: 0.1}\ntrain: {steps: 3}\n");
  require_refused(folder, "run --config parts.yaml --train --no-db", 2,
                  "parts.yaml:2: train appears twice (first in line 1)");
  folder.write("key.yaml", "train: {accumulate_grad_batches: 0}\n");
  require_refused(folder, "run --config key.yaml --train --no-db", 2,
                  "train.accumulate_grad_batches: 0 is not between 1 and 65536");
  folder.write("bad.yaml", "train: {lr: fast}\n");
  require_refused(folder, "run --config bad.yaml --train --no-db", 2, "bad.yaml:1: train.lr");
}

}  // namespace nsa::test
