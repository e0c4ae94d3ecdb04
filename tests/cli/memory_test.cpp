// memory: what fits, and what a run is measured to take.
#include "catch.hpp"
#include "program.hpp"
#include "text.hpp"

namespace nsa::test {

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

}  // namespace nsa::test
