// What other tools write: merged ranks, old and new fields, numbers in quotes.
#include <limits>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

std::string document(const std::string& events) { return "{\"traceEvents\": [" + events + "]}"; }
trace::Summary summary(const std::string& events) {
  return trace::summarize(trace::read_json_trace(document(events), "t.json"));
}
std::string text(long value) { return std::to_string(value); }
std::string call(const std::string& pid, int correlation, long start) {
  return R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":)" + pid +
         R"(,"tid":1,"ts":)" + text(start) + R"(,"dur":1,"args":{"correlation":)" +
         text(correlation) + "}}";
}
std::string kernel(const std::string& pid, int correlation, long start) {
  return R"({"ph":"X","cat":"kernel","name":"k","pid":)" + pid + R"(,"tid":7,"ts":)" + text(start) +
         R"(,"dur":10,"args":{"device":0,"stream":7,"correlation":)" + text(correlation) + "}}";
}
std::string step(const std::string& pid, int number, long start) {
  return R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#)" + text(number) +
         R"(","pid":)" + pid + R"(,"tid":1,"ts":)" + text(start) + R"(,"dur":500})";
}

/// Two ranks whose correlation ids are the same; kernels start 20 us after their launches.
std::string two_ranks(const std::string& host_a, const std::string& gpu_a,
                      const std::string& host_b, const std::string& gpu_b) {
  std::string events = step(host_a, 6, 1000) + "," + step(host_b, 6, 1005);
  for (int i = 1; i <= 4; ++i) {
    events += "," + call(host_a, i, 1000 + 100 * i) + "," + kernel(gpu_a, i, 1020 + 100 * i);
    events += "," + call(host_b, i, 1050 + 100 * i) + "," + kernel(gpu_b, i, 1070 + 100 * i);
  }
  return events;
}

}  // namespace

TEST_CASE("stages that run --stage-trace wrote are ranges", "[trace]") {
  const trace::Trace t = trace::read_json_trace(
      R"({"traceEvents":[{"name":"attention","cat":"stage","ph":"X","ts":1,"dur":2,"pid":1,"tid":1}]})",
      "stages");
  REQUIRE(t.ranges.size() == 1);
  CHECK(t.names.text(t.ranges[0].name) == "attention");
  CHECK(t.ranges[0].end_ns - t.ranges[0].start_ns == 2000);
}

TEST_CASE("ranks that were merged into one file keep their launches and steps apart", "[trace]") {
  const auto check = [](const std::string& events) {
    const trace::Summary s = summary(events);
    CHECK(s.gpu_ops_with_launch == 8);
    REQUIRE(s.launch_to_start_ns);
    CHECK(s.launch_to_start_ns->p50 == 20'000);
    CHECK(s.launch_to_start_ns->max == 20'000);
    REQUIRE(s.steps);
    REQUIRE(s.steps->size() == 2);
    for (const trace::Step& of : *s.steps) CHECK(of.gpu.value().kernels == 4);
    CHECK((*s.steps)[0].process != (*s.steps)[1].process);
  };
  check(two_ranks(R"("[TP00] 4711")", R"("[TP00] 0")", R"("[TP01] 4712")", R"("[TP01] 0")"));
  check(two_ranks(R"("rank0 100")", R"("rank0 0")", R"("rank1 100")", R"("rank1 0")"));
  check(two_ranks("4711", "0", "4712", "1"));
  check(two_ranks("4711", "0", "4712", "0"));
}

TEST_CASE("pids of one process stay one process", "[trace]") {
  const trace::Trace t =
      trace::read_json_trace(document(call("4711", 1, 1000) + "," + call("4712", 2, 1100) + "," +
                                      kernel("0", 1, 1200) + "," + kernel("0", 2, 1300)),
                             "t.json");
  CHECK(t.ops[0].process == t.ops[1].process);
}

TEST_CASE("GPU rows whose pids and tids are texts have devices and streams", "[trace]") {
  const std::string range =
      R"({"ph":"X","cat":"gpu_user_annotation","name":"step","pid":"[TP01] 3","tid":"stream 9","ts":1,"dur":5})";
  const std::string named =
      R"({"ph":"X","cat":"kernel","name":"k","pid":"GPU","tid":"compute","ts":1,"dur":5})";
  const std::string peer =
      R"({"ph":"X","cat":"gpu_memcpy","name":"Memcpy PtoP","pid":"[TP01] 3","tid":7,"ts":9,"dur":5,)"
      R"("args":{"fromDevice":0,"inDevice":2,"stream":7,"bytes":8}})";
  const trace::Trace t =
      trace::read_json_trace(document(range + "," + named + "," + peer), "t.json");
  REQUIRE(t.gpu_ranges.size() == 1);
  CHECK(t.gpu_ranges[0].device == 3);
  CHECK(t.gpu_ranges[0].stream == 9);
  REQUIRE(t.ops.size() == 2);
  CHECK(t.ops[1].device == 2);
}

TEST_CASE("numbers in quotes, or written as 12.0, are numbers", "[trace]") {
  for (const char* id : {"12", "\"12\"", "12.0"}) {
    const std::string kernel =
        R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5,"dur":5,"args":{"correlation":)" +
        std::string(id) + R"(,"device":0,"stream":null,"context":null}})";
    const trace::Summary s = summary(call("4711", 12, 1) + "," + kernel);
    CHECK(s.gpu_ops_with_launch == 1);
  }
}

TEST_CASE("calls of other back ends are calls, an empty last event is none", "[trace]") {
  const std::string call =
      R"({"ph":"X","cat":"xpu_runtime","name":"urEnqueueKernelLaunch","pid":1,"tid":1,"ts":1,"dur":1,"args":{"correlation":3}})";
  const trace::Summary s = summary(call + "," + kernel("0", 3, 9) + ",{}");
  CHECK(s.api_calls == 1);
  CHECK(s.gpu_ops_with_launch == 1);
}

TEST_CASE("what the GPU did is never a pair of begin and end", "[trace]") {
  const std::string begin = R"({"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1})";
  CHECK(refusal(document(begin)).find("ph X") != std::string::npos);
}

TEST_CASE("a byte order mark is no part of the JSON, a NUL behind it is text", "[trace]") {
  const std::string good = document(kernel("0", 1, 1));
  CHECK(refusal("\xef\xbb\xbf" + good).empty());
  CHECK(refusal(good + std::string(1, '\0')).find("after the end") != std::string::npos);
}

TEST_CASE("totals of memory are those of all GPUs, and null where nobody states them", "[trace]") {
  const auto event = [](int device, long at, const std::string& totals) {
    return R"({"ph":"i","s":"t","name":"[memory]","pid":1,"tid":1,"ts":)" + text(at) +
           R"(,"args":{"Device Type":1,"Device Id":)" + text(device) + R"(,"Bytes":64)" + totals +
           "}}";
  };
  const auto totals = [](long allocated) {
    return R"(,"Total Allocated":)" + text(allocated) + R"(,"Total Reserved":4096)";
  };
  const trace::Summary both = summary(event(0, 1, totals(100)) + "," + event(1, 2, totals(30)) +
                                      "," + event(0, 3, totals(10)));
  REQUIRE(both.memory);
  CHECK(both.memory->peak_allocated_bytes == 130);
  CHECK(both.memory->last_allocated_bytes == 40);
  CHECK(both.memory->peak_reserved_bytes == 8192);
  const trace::Summary old = summary(event(0, 1, ""));
  REQUIRE(old.memory);
  CHECK_FALSE(old.memory->peak_allocated_bytes);
  CHECK(old.null_reasons.count("memory.*_allocated_bytes") == 1);
}

TEST_CASE("totals of memory that no 64 bits hold together are bad input", "[trace]") {
  const auto event = [](int device, long at, const std::string& allocated) {
    return R"({"ph":"i","s":"t","name":"[memory]","pid":1,"tid":1,"ts":)" + text(at) +
           R"(,"args":{"Device Type":1,"Device Id":)" + text(device) +
           R"(,"Bytes":64,"Total Allocated":)" + allocated + "}}";
  };
  const std::string most = "9223372036854775807";
  const trace::Summary held = summary(event(0, 1, most) + "," + event(0, 2, most));
  REQUIRE(held.memory);
  CHECK(held.memory->peak_allocated_bytes == std::numeric_limits<std::int64_t>::max());
  CHECK_THROWS_AS(summary(event(0, 1, most) + "," + event(1, 2, "1")), InputError);
}

TEST_CASE("a step in which nothing was launched has figures of 0", "[trace]") {
  const trace::Summary s = summary(step("1", 1, 0) + "," + call("1", 1, 10) + "," +
                                   kernel("0", 1, 20) + "," + step("1", 2, 600));
  REQUIRE(s.steps);
  REQUIRE(s.steps->size() == 2);
  REQUIRE((*s.steps)[1].gpu);
  CHECK((*s.steps)[1].gpu->kernels == 0);
  const trace::Summary unlinked = summary(step("1", 1, 0) + "," + kernel("0", 1, 20));
  CHECK(unlinked.null_reasons.count("steps.*") == 1);
}

TEST_CASE("files of other formats are named", "[trace]") {
  const auto said = [](const std::string& bytes) {
    const TemporaryFile file(bytes);
    try {
      trace::read_trace(file.path());
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(has(said("PK\x03\x04rest"), "zip"));
  CHECK(has(said("\x28\xb5\x2f\xfdrest"), "zstd"));
  CHECK(has(said("version https://git-lfs.github.com/spec/v1\n"), "git lfs pull"));
}

}  // namespace nsa::test
