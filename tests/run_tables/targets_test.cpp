#include "nsa/run_tables/targets.hpp"

#include <algorithm>
#include <array>

#include "catch.hpp"

namespace nsa::test {
namespace {

using namespace run_tables;

Target target_of(const std::string& direction, double at_least) {
  Target target;
  target.device = "H200";
  target.model = "125m";
  target.seq_len = 2048;
  target.direction = direction;
  target.at_least = at_least;
  return target;
}

MeasuredRate forward_rate(double value, double low, double high) {
  return {"NVIDIA H200", "125m",      2048, 1, "forward", {value, std::pair(low, high)},
          "bf16",        "2026-10-01"};
}

TargetVerdict verdict_of(const Target& target, const MeasuredRate& rate) {
  return judge_targets({target}, std::array{rate}).front().verdict;
}

}  // namespace

TEST_CASE("a device is named by whole words of its name", "[reports]") {
  CHECK(names_device("A100", "NVIDIA A100 80GB PCIe"));
  CHECK(names_device("rtx 4090", "NVIDIA GeForce RTX 4090"));
  CHECK(names_device("*", "anything"));
  CHECK_FALSE(names_device("A100", "NVIDIA RTX A1000"));
  CHECK_FALSE(names_device("H100", "NVIDIA H200"));
  CHECK_FALSE(names_device("-", "NVIDIA H200"));
}

TEST_CASE("a target fails only where the whole interval is below it", "[reports]") {
  const MeasuredRate rate = forward_rate(100, 90, 110);
  CHECK(verdict_of(target_of("forward", 95), rate) == TargetVerdict::pass);
  CHECK(verdict_of(target_of("forward", 105), rate) == TargetVerdict::pass);
  CHECK(verdict_of(target_of("forward", 111), rate) == TargetVerdict::fail);
}

TEST_CASE("a forward pass never judges a training", "[reports]") {
  const auto judged =
      judge_targets({target_of("training", 10)}, std::array{forward_rate(1e6, 1e6, 1e6)});
  CHECK(judged.front().verdict == TargetVerdict::not_measured);
  CHECK(judged.front().reason.find("only forward") == 0);
  CHECK(exit_code_of(judged) == 3);
}

TEST_CASE("another length, batch, model or number of devices is not measured", "[reports]") {
  const MeasuredRate rate = forward_rate(100, 90, 110);
  Target target = target_of("forward", 10);
  CHECK(verdict_of(target, rate) == TargetVerdict::pass);
  target.seq_len = 1024;
  CHECK(verdict_of(target, rate) == TargetVerdict::not_measured);
  target = target_of("forward", 10);
  target.batch = 2;
  CHECK(verdict_of(target, rate) == TargetVerdict::not_measured);
  target = target_of("forward", 10);
  target.model = "tiny";
  CHECK(verdict_of(target, rate) == TargetVerdict::not_measured);
  target = target_of("forward", 10);
  target.devices = 2;
  CHECK(verdict_of(target, rate) == TargetVerdict::not_measured);
}

TEST_CASE("the last day judges, and of it the fastest setting", "[reports]") {
  MeasuredRate before = forward_rate(200, 200, 200), slow = forward_rate(50, 50, 50);
  before.day = "2026-09-30";
  const std::array rates{before, slow, forward_rate(100, 90, 110)};
  const auto judged = judge_targets({target_of("forward", 150)}, rates);
  CHECK(judged.front().verdict == TargetVerdict::fail);
  CHECK(judged.front().measured->tokens_per_s.value == Approx(100));
}

TEST_CASE("one failed target is exit 1, whatever passes beside it", "[reports]") {
  const std::array rates{forward_rate(100, 90, 110)};
  CHECK(exit_code_of(judge_targets({target_of("forward", 1)}, rates)) == 0);
  CHECK(exit_code_of(judge_targets({target_of("forward", 1), target_of("forward", 1e6)}, rates)) ==
        1);
  CHECK(exit_code_of({}) == 3);
}

TEST_CASE("what users were told to expect is shipped as unverified", "[reports]") {
  const auto& targets = reported_targets();
  for (const char* device : {"A100", "H100", "RTX 4090"}) {
    INFO(device);
    CHECK(std::ranges::any_of(targets, [&](const Target& t) { return t.device == device; }));
  }
  for (const Target& target : targets) {
    CHECK_FALSE(target.verified);
    CHECK_FALSE(target.source.empty());
  }
}

}  // namespace nsa::test
