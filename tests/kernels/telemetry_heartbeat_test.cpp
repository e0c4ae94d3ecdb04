#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "nsa/kernels/heartbeat.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

using namespace nsa;

TEST_CASE("a record has the names that the users' tools read", "[kernels][telemetry]") {
  Heartbeat h;
  h.ts = 1692720060.456;
  h.pid = 12345;
  h.step = 100;
  h.gpu_mem_alloc = 5120;
  h.toks_per_s = 1245.0;
  const Json j = Json::parse(heartbeat_line(h));
  CHECK(j["iso"] == "2023-08-22T16:01:00.456Z");
  CHECK(j["msg"] == "progress");
  CHECK(j["rank"] == 0);
  CHECK(j["gpu_mem_alloc"] == 5120);
  CHECK(j["toks_per_s"] == 1245.0);
  CHECK(!j.contains("loss"));
  CHECK(!j.contains("sel_rows"));
  CHECK_NOTHROW(validate_json(j, "heartbeat", "heartbeat"));
}

TEST_CASE("fallbacks are sorted into the users' seven counters", "[kernels][telemetry]") {
  Telemetry telemetry;
  telemetry.fallback(Stage::attend_selected, "varlen_v2: does not support this problem");
  telemetry.fallback(Stage::attend_selected, "packed: not built into this program");
  telemetry.fallback(Stage::attend_selected, "masked: does not support this problem");
  telemetry.fallback(Stage::attend_window, "fa2_dense: does not support this problem");
  telemetry.fallback(Stage::score, "p_cmp_bf16: unknown to this build");
  Heartbeat h;
  h.telemetry = telemetry.report();
  const Json j = Json::parse(heartbeat_line(h));
  CHECK(j["fb_selection_pack_fails"] == 2);
  CHECK(j["fb_selection_mask_fails"] == 1);
  CHECK(j["fb_sliding_fa2_fails"] == 1);
  CHECK(j["fb_compressed_fa2_fails"] == 0);
  CHECK(j["fb_total_fallbacks"] == 5);
  CHECK_NOTHROW(validate_json(j, "heartbeat", "heartbeat"));
}

TEST_CASE("a record is one line whatever its words hold", "[kernels][telemetry]") {
  Heartbeat h;
  h.msg = "a\nb\xff";
  h.loss = std::numeric_limits<double>::quiet_NaN();
  const std::string line = heartbeat_line(h);
  CHECK(line.find('\n') == std::string::npos);
  CHECK(!Json::parse(line).contains("loss"));
}

TEST_CASE("the writer appends whole lines and refuses a folder that is not there",
          "[kernels][telemetry]") {
  const auto path = std::filesystem::temp_directory_path() / (make_uuid() + ".jsonl");
  for (const int step : {1, 2}) {
    HeartbeatWriter writer(path.string());
    writer.progress(step, 10.0 * step, TelemetryReport{});
  }
  std::ifstream file(path);
  std::string line;
  std::vector<std::int64_t> steps;
  while (std::getline(file, line)) steps.push_back(Json::parse(line)["step"]);
  CHECK(steps == std::vector<std::int64_t>{1, 2});
  std::filesystem::remove(path);
  CHECK_THROWS_AS(HeartbeatWriter("/nowhere/at/all.jsonl"), InputError);
}

TEST_CASE("the writer follows no link, which could lead to any file", "[kernels][telemetry]") {
  const auto target = std::filesystem::temp_directory_path() / (make_uuid() + ".jsonl");
  const std::string link = target.string() + ".link";
  std::filesystem::create_symlink(target, link);
  CHECK_THROWS_AS(HeartbeatWriter(link), InputError);
  CHECK_FALSE(std::filesystem::exists(target));
  std::ofstream(target) << "kept";
  CHECK_THROWS_AS(HeartbeatWriter(link), InputError);
  CHECK(std::filesystem::file_size(target) == 4);
  std::filesystem::remove(link);
  std::filesystem::remove(target);
}

TEST_CASE("the writer waits for no reader of a pipe and writes to nothing but files",
          "[kernels][telemetry]") {
  const auto pipe = std::filesystem::temp_directory_path() / (make_uuid() + ".pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto refusal = [](const std::string& path) -> std::string {
    try {
      const HeartbeatWriter writer(path);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal(pipe.string()) ==
        pipe.string() + ": is not a regular file; name another one for heartbeats");
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);  // nor where it would not wait
  CHECK(refusal(pipe.string()).find(": is not a regular file") != std::string::npos);
  ::close(reader);
  std::filesystem::remove(pipe);
  for (const std::string& path : {std::string("/dev/null"), pipe.parent_path().string()})
    CHECK_THROWS_AS(HeartbeatWriter(path), InputError);
}
