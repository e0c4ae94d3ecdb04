// Commands that measure wait for each other on a device, and say for whom.
#include "device_holder.hpp"
#include "nsa/schemas/thresholds.hpp"

namespace nsa::test {
namespace {

constexpr const char* kRun = "run --preset tiny --layers 1 --seq-len 64 --steps 1 --no-thresholds";

}  // namespace

TEST_CASE("run waits for who measures on the device, and names the process", "[cli]") {
  const Folder folder;
  const Waited waited = wait_behind_holder(folder, std::string(kRun) + " --no-db");
  check_names_holder(waited);
  CHECK(waited.result.exit_code == 0);
}

TEST_CASE("training that has no memory now waits before it is refused", "[cli]") {
  const Folder folder;
  const Json cpu = json_of(nsatune(folder, "devices --json"), "devices")["devices"][0];
  const std::int64_t free = cpu["memory_free_bytes"], all = cpu["memory_bytes"];
  const std::string train = "--preset tiny --train --no-thresholds --seq-len 1024 --batch ";
  const auto peak_of = [&](std::int64_t batch) {
    return json_of(nsatune(folder, "memory --json " + train + std::to_string(batch)),
                   "memory")["peak_bytes"]
        .get<std::int64_t>();
  };
  const std::int64_t one = peak_of(64), two = peak_of(128);
  // Between what is free and what there is; it never runs.
  const std::int64_t batch = 64 + ((free + all) / 2 - one) * 64 / (two - one);
  const Waited waited =
      wait_behind_holder(folder, "run --no-db --steps 1 " + train + std::to_string(batch));
  check_names_holder(waited);
  CHECK(waited.result.exit_code == 4);
  CHECK(waited.result.err.find("cpu has free ") != std::string::npos);
  const Holder holder(folder);
  const Result never =
      nsatune(folder, "run --no-db --preset tiny --train --seq-len 32768 --batch 65536");
  CHECK(never.exit_code == 4);
  CHECK(never.err.find("cpu has ") != std::string::npos);
  CHECK(never.err.find("waiting") == std::string::npos);
}

namespace {

/// A file of this CPU that was not decided here: a busy machine may decide nothing.
void write_thresholds(const Folder& folder) {
  Json device = json_of(nsatune(folder, "devices --json"), "devices")["devices"][0];
  device.erase("links");
  ThresholdTable table;
  table.device = device.get<Device>();
  table.run_ids = {"made up"};
  ClassDecisions& of_class = table.classes.emplace_back();
  of_class.problem_class = class_of(Problem{});
  Decision& decision = of_class.decisions.emplace_back();
  decision.stages = {"ranges"};
  ThresholdRange& range = decision.ranges.emplace_back();
  range.from = 32;
  range.to = 256;
  range.variant = {{"ranges"}, "ranges_v1", {}};
  range.evidence.run_ids = table.run_ids;
  range.evidence.pairs = 8;
  range.evidence.measured_from = 64;
  range.evidence.measured_to = 128;
  range.evidence.lengths = 2;
  folder.write("t.json", Json(table).dump());
}

}  // namespace

TEST_CASE("verify waits likewise, and with --share for nobody", "[cli]") {
  const Folder folder;
  write_thresholds(folder);
  const std::string verify = "verify t.json --db b.sqlite --budget 60s ";
  const Waited waited = wait_behind_holder(folder, verify);
  check_names_holder(waited);
  // On a busy machine it may be "no place in its ranges was judged".
  CHECK(waited.result.out.find(" in its ranges") != std::string::npos);
  const Holder holder(folder);
  const Result shared = nsatune(folder, verify + "--share");
  CHECK(shared.err.find("waiting") == std::string::npos);
  CHECK(shared.out.find(" in its ranges") != std::string::npos);
}

TEST_CASE("a command with --share waits for nobody", "[cli]") {
  const Folder folder;
  const Holder holder(folder);
  const Result run = nsatune(folder, std::string(kRun) + " --no-db --share");
  CHECK(run.exit_code == 0);
  CHECK(run.err.find("waiting") == std::string::npos);
  const Result sweep =
      nsatune(folder, "sweep quick --axis seq_len=64 --stage ranges --share --json --accept-noise");
  INFO(sweep.err);
  CHECK(sweep.exit_code == 0);
  CHECK(json_of(sweep, "sweep_result")["complete"] == true);
}

TEST_CASE("a worker in virtual time waits for nobody", "[cli]") {
  const Folder folder;
  const Holder holder(folder);
  folder.write("world.json", R"({"schema_version": 1, "seed": 5, "executor": "sim",
    "stages": ["ranges"], "variants": [{"name": "line", "time": {"launch_ns": 10000, "terms": [{"ns": 1, "order": 1}]}}]})");
  const Result sweep = nsatune(folder,
                               "sweep quick --axis seq_len=64 --stage ranges --json --budget 60s "
                               "--worker '" NSATUNE_PROGRAM " worker-sim " +
                                   folder.file("world.json") + "'");
  INFO(sweep.err);
  CHECK(sweep.exit_code == 0);
  const Json done = json_of(sweep, "sweep_result");
  CHECK(done["complete"] == true);
  CHECK(done["time_breakdown"]["wait_s"].get<double>() < 5);
}

}  // namespace nsa::test
