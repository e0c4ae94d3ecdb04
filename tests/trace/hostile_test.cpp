// Bad input: one line with the place, never a part of a summary.
#include <filesystem>

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "text.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

std::string good() { return JsonTrace().launched("k", 1, 0, 1, 2).range("step 1", 0, 9).text(); }
std::string with(const std::string& event) {
  return JsonTrace().kernel("k", 1, 0, 1).raw(event).text();
}

}  // namespace

TEST_CASE("a trace that is cut anywhere is refused, plain or packed", "[trace]") {
  const std::string text = good(), packed = gzipped(text);
  REQUIRE(refusal(text).empty());
  REQUIRE(refusal(packed).empty());
  for (std::size_t length = 0; length < text.size(); ++length) {
    const std::string message = refusal(text.substr(0, length));
    CAPTURE(length, message);
    CHECK(contains(message, "t.json: byte "));
  }
  for (std::size_t length = 2; length < packed.size(); ++length) {
    CAPTURE(length);
    CHECK(contains(refusal(packed.substr(0, length)), "t.json: byte "));
  }
}

TEST_CASE("what a fuzzer found is read or refused", "[trace]") {
  const std::filesystem::path corpus = std::filesystem::path(NSATUNE_CORPUS) / "fuzz_trace_json";
  for (const auto& file : std::filesystem::directory_iterator(corpus)) {
    const std::string message = refusal(read_text_file(file.path().string()));
    CAPTURE(file.path().string(), message);
    CHECK((message.empty() || contains(message, "t.json: byte ")));
    if (file.path().filename() == "value_missing.json.gz") CHECK(contains(message, "ends"));
  }
}

TEST_CASE("any damaged byte of a packed trace is found", "[trace]") {
  const std::string packed = gzipped(good());
  for (std::size_t at = 10; at < packed.size(); ++at) {  // after the header, which holds no data
    std::string damaged = packed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    CAPTURE(at);
    CHECK(contains(refusal(damaged), "t.json: byte "));
  }
  CHECK(contains(refusal(packed + "rest"), "not gzip"));
}

TEST_CASE("the bandwidth that Kineto wrote for a copy of no time is read over", "[trace]") {
  const TemporaryFile file(with(R"-({"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": 5,
      "dur": 0, "pid": 0, "tid": 7, "args": {"bytes": 4, "memory bandwidth (GB/s)": inf}})-"));
  CHECK(trace::read_trace(file.path()).ops.size() == 2);  // with that of every such file
}

TEST_CASE("values that are no JSON are named with their place", "[trace]") {
  const std::string text = with(R"({"ph": "X", "cat": "x", "args": {"loss": NaN}})");
  CHECK(contains(refusal(text), "byte " + std::to_string(text.find("NaN")) + ": "));
  CHECK(contains(refusal(with(R"({"ph": "X", "cat": "x", "args": [Infinity]})")), "t.json: byte "));
  CHECK(contains(refusal(R"({"metadata": {"loss": NaN}, "traceEvents": []})"), "byte 22: "));
  CHECK(contains(refusal(with(R"({"ph": "M", "x": 01})")), "byte "));
  CHECK(contains(refusal(with(R"({"ph": "M", "x": tru})")), "byte "));
  CHECK(contains(refusal(with(R"({"ph": "M", "x": "\q"})")), "byte "));
  CHECK(contains(refusal(with(R"({"ph": "M" "x": 1})")), "byte "));
  CHECK(contains(refusal(with(R"({"ph": "M", "x": [1}])")), "byte "));
  CHECK(contains(refusal(with("{\"ph\": \"M\", \"x\": \"a\x01z\"}")), "byte "));
  CHECK(contains(refusal(with("{\"ph\": \"M\", \"x\": \"a\xff\xfez\"}")), "byte "));
  CHECK(contains(refusal(R"({"traceEvents": [{"ph": "M"},]})"), "byte 29: "));
  CHECK(contains(refusal(R"({"traceEvents": []} x)"), "byte 20: "));
  CHECK(contains(refusal(R"({"traceEvents": [], "traceEvents": []})"), "second"));
  CHECK(contains(refusal(R"({"events": []})"), "traceEvents"));
  CHECK(contains(refusal("{}"), "traceEvents"));
  CHECK(contains(refusal("nonsense"), "byte 0: "));
  CHECK(contains(refusal(R"({"traceEvents": {}})"), "byte 16: "));
  CHECK(contains(refusal(R"({"traceEvents": [1, 2]})"), "object"));
  CHECK(contains(refusal(R"([[]])"), "object"));
  CHECK(contains(refusal(R"([{"ph": "M"}}])"), "byte "));
}

TEST_CASE("nesting without end is refused at once", "[trace]") {
  const std::string deep(10000, '['), end(10000, ']');
  CHECK(contains(refusal(with("{\"ph\": \"M\", \"args\": " + deep + end + "}")), "deep"));
  CHECK(contains(refusal("{\"a\": " + deep + end + ", \"traceEvents\": []}"), "deep"));
  CHECK(contains(refusal(deep + end), "deep"));
}

TEST_CASE("fields of the wrong type are refused where they matter", "[trace]") {
  const auto kernel = [](const std::string& fields) {
    return refusal(with(R"({"ph": "X", "cat": "kernel", "name": "k", )" + fields + "}"));
  };
  CHECK(contains(kernel(R"("ts": 1)"), "dur"));
  CHECK(contains(kernel(R"("dur": 1)"), "ts"));
  CHECK(contains(kernel(R"("ts": "soon", "dur": 1)"), "ts"));
  CHECK(contains(kernel(R"("ts": null, "dur": 1)"), "ts"));
  CHECK(contains(kernel(R"("ts": [1], "dur": 1)"), "ts"));
  CHECK(contains(kernel(R"("ts": 1, "dur": true)"), "dur"));
  CHECK(contains(kernel(R"("ts": 1, "dur": 1, "args": {"correlation": "abc"})"), "correlation"));
  CHECK(contains(kernel(R"("ts": 1, "dur": 1, "args": {"correlation": 1.5})"), "correlation"));
  CHECK(contains(kernel(R"("ts": 1, "dur": 1, "args": {"correlation": 18446744073709551616})"),
                 "correlation"));
  CHECK(contains(kernel(R"("ts": 1, "dur": 1, "args": {"device": {}})"), "device"));
  CHECK(contains(kernel(R"("ts": 1, "dur": 1, "args": {"device": 4294967296})"), "device"));
  CHECK(contains(kernel(R"("ts": 1, "dur": 1, "args": {"stream": "main"})"), "stream"));
  CHECK(contains(refusal(with(R"({"ph": 7})")), "string"));
  CHECK(contains(refusal(with(R"({"ph": "X", "name": ["k"]})")), "string"));
  CHECK(contains(refusal(with(R"({"name": "no phase"})")), "ph"));
  CHECK(contains(refusal(R"({"deviceProperties": {"id": 0}, "traceEvents": []})"),
                 "deviceProperties"));
  CHECK(contains(refusal(R"({"deviceProperties": [{"id": 0, "name": 5}], "traceEvents": []})"),
                 "deviceProperties"));
  CHECK(contains(refusal(R"({"baseTimeNanoseconds": "now", "traceEvents": []})"), "baseTime"));
}

TEST_CASE("a field of the wrong type is never taken for another value", "[trace]") {
  const auto kernel = [](const std::string& args) {
    return refusal(with(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1,
                            "dur": 1, "args": )" +
                        args + "}"));
  };
  CHECK(kernel(R"({"device": 0, "grid": [8, 1, 1], "block": [ 128 ,1,
                   1 ], "registers per thread": 40, "shared memory": 0})")
            .empty());
  CHECK(kernel("null").empty());
  CHECK(contains(kernel("[1]"), "args"));
  CHECK(contains(kernel("\"x\""), "args"));
  CHECK(contains(kernel(R"({"grid": [1e9, 1, 1]})"), "grid"));
  CHECK(contains(kernel(R"({"grid": [8, 1]})"), "grid"));
  CHECK(contains(kernel(R"({"grid": [8, 1, 1, 1]})"), "grid"));
  CHECK(contains(kernel(R"({"grid": [8, -1, 1]})"), "grid"));
  CHECK(contains(kernel(R"({"grid": [4294967296, 1, 1]})"), "grid"));
  CHECK(contains(kernel(R"({"grid": [1, 1, 1], "block": {"x": 1}})"), "block"));
  CHECK(contains(kernel(R"({"grid": [1, 1, 1], "shared memory": "x"})"), "shared memory"));
  CHECK(contains(kernel(R"({"context": 4294967296})"), "context"));
  CHECK(contains(kernel(R"({"graph id": 4294967296})"), "graph id"));
  const auto sync = [](const std::string& args) {
    return refusal(with(R"({"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0,
                            "tid": 7, "ts": 1, "dur": 1, "args": {)" +
                        args + "}}"));
  };
  CHECK(sync(R"("stream": -1, "correlation": 5, "device": 0)").empty());
  CHECK(contains(sync(R"("stream": 1e9)"), "stream"));
  CHECK(contains(sync(R"("device": "x")"), "device"));
  CHECK(contains(refusal(with(R"({"ph": "i", "name": "[memory]", "ts": 1, "args": {"Device Type": 1,
                             "Bytes": 1, "Device Id": 4294967296}})")),
                 "device"));
  CHECK(contains(
      refusal(with(R"({"ph": "C", "name": "c", "pid": 0, "ts": 1, "args": {"v": 1e999}})")),
      "counter"));
}

TEST_CASE("what stands beside the events is read whole or refused", "[trace]") {
  const auto beside = [](const std::string& text) {
    return refusal("{" + text + R"(, "traceEvents": []})");
  };
  CHECK(beside(R"("baseTimeNanoseconds": 9223372036854775807)").empty());
  CHECK(contains(beside(R"("baseTimeNanoseconds": 9223372036854775808)"), "byte 24: "));
  CHECK(contains(beside(R"("baseTimeNanoseconds": 1.5)"), "baseTime"));
  CHECK(contains(beside(R"("baseTimeNanoseconds": 1, "baseTimeNanoseconds": 2)"), "twice"));
  const std::string ours = R"("nsatune": {"version": 1, "origin_ns": 0, "holds_overhead": true,
                              "processes": [], "device_pids": [], "untimed_ops": )";
  CHECK(beside(ours + "5}").empty());
  CHECK(contains(beside(ours + "-5}"), "nsatune"));
  const auto clocks = [&](const std::string& alignment) {
    return beside(ours + R"(5, "clocks": {"assumption": "", "alignment": ")" + alignment +
                  R"("}})");
  };
  CHECK(clocks("steps").empty());
  CHECK(contains(clocks("stars"), "nsatune"));
  CHECK(contains(beside(ours + "5}, " + ours + "5}"), "twice"));
}

TEST_CASE("times that no trace has are refused", "[trace]") {
  const auto kernel = [](const char* ts, const char* dur) {
    return refusal(JsonTrace().event("kernel", "k", ts, dur).text());
  };
  CHECK(contains(kernel("1", "-0.001"), "negative"));
  CHECK(contains(kernel("1", "9223372036854775807"), "dur"));
  CHECK(contains(kernel("1", "1e300"), "dur"));
  CHECK(contains(kernel("1", "9007199254741"), "104 days"));
  CHECK(contains(kernel("9223372036854775807", "1"), "ts"));
  CHECK(contains(kernel("-9e15", "1"), "ts"));
  CHECK(kernel("-5", "1").empty());
  JsonTrace sum;
  for (int i = 0; i < 1100; ++i) sum.event("kernel", "k", std::to_string(i), "9007199254740");
  CHECK(contains(refusal(sum.text()), "292 years"));
}

TEST_CASE("ids that stand for several events lose none of them", "[trace]") {
  const trace::Summary s = JsonTrace()
                               .call("cudaLaunchKernel", 7, 0, 1)
                               .call("cudaLaunchKernel", 7, 2, 1)  // the first one counts
                               .kernel("k", 7, 10, 5, 7, 0)
                               .kernel("k", 7, 10, 5, 7, 1)
                               .summary();
  CHECK(s.gpu_ops_with_launch == 2);
  CHECK(s.api_calls == 2);
  CHECK(s.launch_to_start_ns->max == 10'000);
  REQUIRE(s.devices.size() == 2);
  for (const trace::DeviceSummary& device : s.devices) CHECK(device.gpu.busy_ns == 5000);
  CHECK(s.gpu->same_stream_overlaps == 0);  // stream 7 of two devices is two streams
}

TEST_CASE("files that are no trace are refused by name", "[trace]") {
  const auto message = [](const std::string& path) -> std::string {
    try {
      trace::read_trace(path);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  CHECK(contains(message("/nonexistent/trace.json"), "/nonexistent/trace.json: "));
  CHECK(contains(message("/tmp"), "not a regular file"));
  const TemporaryFile empty(""),
      binary(std::string("\x7f"
                         "ELF\0\1\2",
                         7)),
      sqlite("SQLite format 3");
  CHECK(contains(message(empty.path()), "byte 0"));
  CHECK(contains(message(binary.path()), "byte 0"));
  CHECK(contains(message(sqlite.path()), "table"));
}

TEST_CASE("a begin and its end are no more than 104 days apart", "[trace]") {
  const auto pair = [](const char* begin, const char* end) {
    return JsonTrace()
        .raw(std::string(R"({"ph":"B","name":"r","pid":1,"tid":1,"ts":)") + begin + "}")
        .raw(std::string(R"({"ph":"E","pid":1,"tid":1,"ts":)") + end + "}")
        .text();
  };
  CHECK(refusal(pair("0", "5")).empty());
  CHECK(refusal(pair("-4e15", "4e15")).find("104 days") != std::string::npos);
  CHECK(refusal(pair("5", "0")).find("before its begin") != std::string::npos);
}

}  // namespace nsa::test
