// Forms of Chrome traces that are in use.
#include "catch.hpp"
#include "read/byte_source.hpp"
#include "read/json/trace.hpp"
#include "traces.hpp"

namespace nsa::test {

TEST_CASE("a trace is an object with other keys around the events, or a bare array", "[trace]") {
  const std::string kernel =
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,
         "args":{"device":0,"stream":7}})";
  const std::string whole = R"({"schemaVersion": 1, "unknown": {"a": [1, "}", {"b": "]\""}]},
    "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
    "baseTimeNanoseconds": 1790857026000000000,
    "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
    "traceEvents": [)" + kernel +
                            R"(], "traceName": "x.json"})";
  const trace::Trace t = trace::read_json_trace(whole, "test");
  CHECK(t.ops.size() == 1);
  CHECK(t.devices.at(0).name == "NVIDIA H200");
  CHECK(t.source.base_time_ns == 1790857026000000000);
  CHECK(t.source.rank == 3);
  CHECK(t.source.world_size == 8);
  CHECK(t.source.bytes == whole.size());
  CHECK(trace::read_json_trace(" [" + kernel + "," + kernel + " ]\n", "test").ops.size() == 2);
  CHECK(trace::read_json_trace("{\"traceEvents\": [ ]}", "test").ops.empty());
}

TEST_CASE("categories of 2021 mean what those of today mean", "[trace]") {
  const trace::Trace t =
      JsonTrace()
          .event("Kernel", "k", "10", "5", R"(, "pid": 1, "tid": "stream 20",
                                "args": {"external id": 4, "correlation": 9})")
          .event("Memcpy", "Memcpy HtoD", "20", "5", R"(, "pid": 1, "tid": "stream 7")")
          .event("Memset", "Memset", "30", "5", R"(, "pid": 1, "tid": "stream 7")")
          .event("Runtime", "cudaLaunchKernel", "8", "1", R"(, "args": {"correlation": 9})")
          .event("Operator", "aten::add", "7", "3", "")
          .read();
  REQUIRE(t.ops.size() == 3);
  CHECK(t.ops[0].stream == 20);
  CHECK(t.ops[0].device == 1);
  CHECK(t.ops[0].correlation == 9);
  CHECK(t.ops[1].kind == trace::OpKind::copy);
  CHECK(t.ops[2].kind == trace::OpKind::set);
  CHECK(t.calls.size() == 1);
  CHECK(t.ranges.size() == 1);
}

TEST_CASE("ids above the largest signed integer, absolute times and text pids pass", "[trace]") {
  const trace::Trace t =
      JsonTrace()
          .event(
              "cuda_runtime", "cudaLaunchKernel", "1712195495519689.047", "0.001",
              R"(, "pid": "python", "tid": "main", "args": {"correlation": 18446744073709551615})")
          .event("kernel", "ncclDevKernel", "1712195495519690.048", "1.500",
                 R"(, "pid": 0, "tid": 7, "args": {"device": 0, "stream": 7,
                    "correlation": 18446744073709551615, "Comms Id": 14000000000000000000,
                    "dims": [1.5e300, -0, 123456789012345678901234567890]})")
          .read();
  CHECK(t.ops.at(0).correlation == UINT64_MAX);
  CHECK(t.ops.at(0).start_ns == 1712195495519690048);
  CHECK(t.ops.at(0).end_ns == 1712195495519691548);
  CHECK(t.calls.at(0).start_ns == 1712195495519689047);
}

TEST_CASE("begin and end pairs nest, and what is never ended is open", "[trace]") {
  const trace::Trace t = JsonTrace()
                             .raw(R"({"ph":"B","name":"outer","pid":1,"tid":1,"ts":0})")
                             .raw(R"({"ph":"B","name":"inner","pid":1,"tid":1,"ts":1})")
                             .raw(R"({"ph":"B","name":"other","pid":1,"tid":2,"ts":1.5})")
                             .raw(R"({"ph":"E","pid":1,"tid":1,"ts":2})")
                             .raw(R"({"ph":"E","pid":1,"tid":1,"ts":5})")
                             .raw(R"({"ph":"E","pid":1,"tid":1,"ts":6})")
                             .read();
  REQUIRE(t.ranges.size() == 3);
  CHECK(t.names.text(t.ranges[0].name) == "outer");
  CHECK(t.ranges[0].end_ns == 5000);
  CHECK(t.names.text(t.ranges[1].name) == "inner");
  CHECK(t.ranges[1].end_ns == 2000);
  CHECK(t.ranges[2].open);
  CHECK_FALSE(t.ranges[0].open);
}

TEST_CASE("escapes in names and keys are undone", "[trace]") {
  const trace::Trace t =
      trace::read_json_trace(R"([{"\u0070h": "X", "cat": "kern\u0065l", "name": "a\"b\\\u00e4\n",
                                  "ts": "1.5", "dur": 1, "pid": 0, "tid": 7}])",
                             "test");
  REQUIRE(t.ops.size() == 1);
  CHECK(t.names.text(t.ops[0].name) == "a\"b\\\xc3\xa4\n");
  CHECK(t.ops[0].start_ns == 1500);
}

TEST_CASE("windows end anywhere without a difference", "[trace]") {
  JsonTrace many;
  for (int i = 0; i < 20000; ++i) {
    const std::string name = "kernel \\\" " + std::to_string(i % 17) + std::string(i % 97, '}');
    many.launched(name, i + 1, i, i + 0.5, 0.25);
  }
  const std::string text = many.text();
  REQUIRE(text.size() > 3 << 20);  // several windows
  const trace::Trace t = trace::read_json_trace(text, "test");
  CHECK(t.ops.size() == 20000);
  CHECK(t.calls.size() == 20000);
  const trace::Trace packed = trace::read_json_trace(gzipped(text), "test");
  CHECK(packed.ops.size() == 20000);
  CHECK(packed.source.bytes == text.size());
  const std::string two = gzipped(text.substr(0, 1000)) + gzipped(text.substr(1000));
  CHECK(trace::read_json_trace(two, "test").ops.size() == 20000);
}

TEST_CASE("a window of any size reads the same", "[trace]") {
  JsonTrace some;
  for (int i = 0; i < 40; ++i)
    some.launched(std::string(static_cast<std::size_t>(i % 11), 'k') + R"( \\\" \\)", i + 1, i,
                  i + 0.5, 0.25);
  const std::string text = some.text();
  for (std::size_t window = 2; window < 600; ++window) {
    CAPTURE(window);
    const auto source = trace::open_bytes(text, "test", false);
    const trace::Trace t = trace::read_json(*source, "test", window);
    CHECK(t.ops.size() == 40);
    CHECK(t.source.bytes == text.size());
  }
}

TEST_CASE("what looks like the end of an event and is none neither loses nor doubles one",
          "[trace]") {
  JsonTrace some;
  for (int i = 0; i < 12; ++i) {
    const std::string id = std::to_string(i + 1);
    some.raw(R"({"ph": "X", "cat": "kernel", "name": "}, {", "pid": 0, "tid": 7, "ts": )" + id +
             R"(, "dur": 0.25, "args": {"list": [{"a": 1}, {"b": 2},{ "c": [{"d": 3} ,
             {"e": 4}]}], "device": 0, "stream": 7, "correlation": )" +
             id + R"(, "more": [{"f": 5}, {"g": 6}]}})");
  }
  const std::string text = R"({"before": [{"a": 1}, {"b": 2}], "traceEvents": [)" +
                           some.text().substr(17, some.text().size() - 19) +
                           R"(], "after": [{"a": 1}, {"b": 2}]})";
  for (std::size_t window = 2; window < text.size() + 2; ++window) {
    CAPTURE(window);
    const auto source = trace::open_bytes(text, "test", false);
    const trace::Trace t = trace::read_json(*source, "test", window);
    REQUIRE(t.ops.size() == 12);
    for (std::size_t i = 0; i < 12; ++i) REQUIRE(t.ops[i].correlation == i + 1);
  }
}

TEST_CASE("a name of a megabyte is a name", "[trace]") {
  const std::string name(1 << 20, 'n');
  const trace::Trace t = JsonTrace().kernel(name, 1, 0, 1).kernel(name + "2", 1, 2, 1).read();
  REQUIRE(t.ops.size() == 2);
  CHECK(t.names.text(t.ops[0].name) == name);
}

}  // namespace nsa::test
