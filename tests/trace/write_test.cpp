// The Chrome writer: what it writes is JSON, reads back as the same trace, and is there whole or
// not at all. validate_chrome.py holds it to the viewers' rules.
#include "nsa/trace/write.hpp"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "../cli/program.hpp"
#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/trace/summary_json.hpp"
#include "traces.hpp"
#include "write/lanes.hpp"
#include "write/text_buffer.hpp"

namespace nsa::test {
namespace {

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Out and back.
std::string written(const trace::Trace& t) {
  const Folder folder;
  trace::write_chrome_trace(t, folder.file("t.json"));
  return content(folder.file("t.json"));
}
trace::Trace again(const trace::Trace& t) { return trace::read_json_trace(written(t), "again"); }

/// What a summary says, but for the file itself.
Json figures(const trace::Trace& t) {
  Json document = trace::to_document(trace::summarize(t));
  for (const char* key : {"path", "format", "events"}) document.erase(key);
  return document;
}

JsonTrace busy() {
  JsonTrace t;
  t.range("ProfilerStep#3", 0, 40).range("score", 1, 9).range("topk", 2, 3, 1, "cpu_op");
  t.range("partly over score", 5, 20, 1, "nvtx").range("other thread", 0, 9, 2);
  for (int i = 0; i < 8; ++i) t.launched("flash_fwd_kernel", i + 1, 2 + i, 3.5 + i, 1.75);
  t.kernel("ncclDevKernel", 99, 30, 5, 20, 1).call("cudaStreamSynchronize", 50, 20, 12);
  t.raw(R"({"ph":"B","name":"open","pid":5,"tid":1,"ts":3})");
  t.raw(R"({"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":20,"dur":1,
            "args":{"device":0,"stream":7,"correlation":70,"bytes":4096}})");
  t.raw(R"({"ph":"X","cat":"overhead","name":"Buffer Flush","pid":-1,"tid":0,"ts":15,"dur":2})");
  t.raw(R"({"ph":"X","cat":"overhead","name":"Command Buffer Full","pid":-1,"tid":0,"ts":16,
            "dur":2})");
  t.raw(R"({"ph":"i","s":"t","name":"[memory]","pid":5,"tid":1,"ts":7,"args":{"Bytes":64,
            "Addr":4096,"Device Type":1,"Device Id":0,"Total Allocated":64,"Total Reserved":128}})");
  return t;
}

}  // namespace

TEST_CASE("of real traces the arrows of autograd and the numbers of calls are written", "[trace]") {
  const char* data = std::getenv("NSATUNE_EXTERNAL_DATA");
  if (!data) {
    WARN("skipped: NSATUNE_EXTERNAL_DATA is not set");
    return;
  }
  const trace::Trace source =
      trace::read_trace(std::string(data) + "/traces/a100_ddp_nccl_rank0_of2.json.gz");
  const trace::Trace copy = again(source);
  const auto numbered = [](const trace::Trace& t) {
    return std::count_if(t.calls.begin(), t.calls.end(), [](const auto& c) { return c.external; });
  };
  CHECK(source.flows.size() == 543);
  CHECK(copy.flows.size() == 543);
  CHECK(numbered(source) == 8740);
  CHECK(numbered(copy) == 8740);
}

TEST_CASE("what was written says what its source said", "[trace]") {
  for (const JsonTrace& t : {busy(), JsonTrace(), JsonTrace().call("cudaMalloc", 1, 0, 1),
                             JsonTrace().range("aten::add", 1e9, 1, 1, "cpu_op")}) {
    const trace::Trace source = t.read();
    CHECK(figures(again(source)) == figures(source));
  }
}

TEST_CASE("all kinds of events come back, with what they hold", "[trace]") {
  const trace::Trace t = again(
      busy()
          .raw(R"({"ph":"C","name":"sm_clock_mhz","pid":0,"tid":0,"ts":3,"args":{"value":1980.5}})")
          .raw(R"({"ph":"i","s":"t","cat":"nvtx","name":"mark","pid":5,"tid":1,"ts":4})")
          .raw(R"({"ph":"b","cat":"nvtx","name":"over","id":3,"pid":5,"tid":1,"ts":1})")
          .raw(R"({"ph":"e","cat":"nvtx","name":"over","id":3,"pid":5,"tid":2,"ts":9})")
          .raw(R"({"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":7,"ts":12,"dur":1,
                   "args":{"stream":7,"correlation":50,"device":0}})")
          .raw(R"({"ph":"X","cat":"gpu_user_annotation","name":"step 3","pid":0,"tid":7,"ts":3,
                   "dur":9,"args":{"External id":5}})")
          .raw(R"({"ph":"X","cat":"gpu_user_annotation","name":"by events","pid":0,"tid":2000000000,
                   "ts":4,"dur":20,"args":{"device":0,"stream":-1}})")
          .raw(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":60,"dur":1,"args":{
                   "device":0,"stream":7,"correlation":0,"grid":[8,2,1],"block":[128,1,1],
                   "cluster":[2,1,1],"registers per thread":40,"shared memory":1024,
                   "graph id":4,"graph node id":17,"context":1,"stage":"compress"}})")
          .read());
  REQUIRE(t.counters.size() == 1);
  CHECK(t.counters[0].value == 1980.5);
  CHECK(t.names.text(t.counters[0].name) == "sm_clock_mhz");
  CHECK(t.counters[0].device == 0);
  CHECK(t.instants.size() == 1);
  REQUIRE(t.async_ranges.size() == 1);
  CHECK(t.async_ranges[0].end_ns == 9000);
  REQUIRE(t.syncs.size() == 1);
  CHECK(t.syncs[0].correlation == 50);
  REQUIRE(t.gpu_ranges.size() == 2);
  CHECK(t.names.text(t.gpu_ranges[0].name) == "step 3");
  CHECK(t.gpu_ranges[0].stream == 7);
  CHECK(t.gpu_ranges[0].device == 0);
  CHECK(t.gpu_ranges[1].stream == -1);
  CHECK(t.gpu_ranges[1].end_ns == 24'000);
  CHECK(t.overheads.size() == 2);
  CHECK(t.memory.size() == 1);
  const trace::GpuOp& k = t.ops.back();
  CHECK(k.graph_node == 17);
  CHECK(k.graph == 4);
  CHECK(t.names.text(k.stage) == "compress");
  const trace::LaunchShape& shape = t.shapes.at(k.shape);
  CHECK(shape.grid == std::array<std::uint32_t, 3>{8, 2, 1});
  CHECK(shape.cluster == std::array<std::uint32_t, 3>{2, 1, 1});
  CHECK(shape.registers == 40);
  CHECK(shape.shared_bytes == 1024);
  CHECK(t.source.flow_starts == 8);
  CHECK(t.source.flow_ends == 8);
}

TEST_CASE("Python's functions and call stacks come back, and change no figure", "[trace]") {
  const auto function = [](const char* name, const char* times, const char* args) {
    return std::string(R"({"ph":"X","cat":"python_function","name":")") + name +
           R"(","pid":5,"tid":1,)" + times + R"(,"args":{)" + args + "}}";
  };
  const trace::Trace source =
      busy()
          .raw(function("train.py(3): <module>", R"("ts":0,"dur":50)",
                        R"("Python id":1,"Python parent id":null,"Ev Idx":7)"))
          .raw(function("nn.Module: Attention_0", R"("ts":5,"dur":40)",
                        R"("Python id":2,"Python parent id":1,"Python module id":0)"))
          .raw(function(R"(score/\"top\".py(9): k)", R"("ts":44,"dur":9)", R"("Python id":"x")"))
          .raw(R"({"ph":"X","cat":"cpu_op","name":"aten::add","pid":5,"tid":1,"ts":6,"dur":1,
                   "args":{"Call stack":"a.py(1): f;<b>\t(\"2\"): g"}})")
          .read();
  REQUIRE(source.python.size() == 3);
  const trace::Trace t = again(source);
  CHECK(figures(t) == figures(source));
  REQUIRE(t.python.size() == 3);
  CHECK(t.names.text(t.python[0].name) == "train.py(3): <module>");
  CHECK(t.python[0].id == 1);
  CHECK(t.python[0].parent == -1);
  CHECK(t.python[1].parent == 1);
  CHECK(t.python[1].module == 0);
  CHECK(t.python[1].end_ns == 45000);
  CHECK(t.python[2].id == -1);
  CHECK(t.names.text(t.python[2].name) == "score/\"top\".py(9): k");
  const auto add = std::find_if(t.ranges.begin(), t.ranges.end(), [&](const trace::HostRange& r) {
    return t.names.text(r.name) == "aten::add";
  });
  REQUIRE(add != t.ranges.end());
  CHECK(t.names.text(add->stack) == "a.py(1): f;<b>\t(\"2\"): g");
  for (const trace::PythonCall& call : t.python) CHECK(t.threads.at(call.thread).tid == "1");
  CHECK(figures(source)["stages"] == figures(busy().read())["stages"]);
  CHECK(written(t) == written(source));
}

TEST_CASE("the same trace gives the same bytes, and so does what was written before", "[trace]") {
  const trace::Trace source = busy().read();
  const std::string once = written(source);
  CHECK(written(source) == once);
  CHECK(written(trace::read_json_trace(once, "once")) == once);
  const Folder folder;
  trace::write_chrome_trace(source, folder.file("a.json.gz"));
  trace::write_chrome_trace(source, folder.file("b.json.gz"));
  CHECK(content(folder.file("a.json.gz")) == content(folder.file("b.json.gz")));
  CHECK(figures(trace::read_trace(folder.file("a.json.gz"))) == figures(source));
}

TEST_CASE("times are relative, exact to the nanosecond, and the absolute base stays", "[trace]") {
  const trace::Trace source = trace::read_json_trace(
      R"({"baseTimeNanoseconds": 1790857026000000000, "distributedInfo": {"rank": 3,
          "world_size": 8}, "traceEvents": [{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,
          "ts":4458676522690.655,"dur":0.001,"args":{"device":0,"stream":7}}]})",
      "test");
  const std::string text = written(source);
  CHECK(text.find("\"ts\":0.000,\"dur\":0.001") != std::string::npos);
  CHECK(text.find("\"baseTimeNanoseconds\":1795315702522690655") != std::string::npos);
  const trace::Trace t = trace::read_json_trace(text, "again");
  CHECK(t.ops.at(0).start_ns == 4458676522690655);
  CHECK(t.source.base_time_ns == 1790857026000000000);
  CHECK(t.source.rank == 3);
}

TEST_CASE("events that lie further apart than a reader takes are one line", "[trace]") {
  const auto of_year = [](const char* microseconds) {
    return std::string(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":)") +
           microseconds + R"(,"dur":1,"args":{"device":0,"stream":7}})";
  };
  const trace::Trace source = trace::read_json_trace(
      "[" + of_year("-3000000000000000") + "," + of_year("3000000000000000") + "]", "test");
  REQUIRE(source.ops.size() == 2);
  CHECK_THROWS_AS(written(source), InputError);
}

TEST_CASE("an operation of no length that is the first event keeps its time", "[trace]") {
  const trace::Trace source = JsonTrace().kernel("k", 1, 10, 0).kernel("l", 2, 10, 3).read();
  REQUIRE(source.ops.size() == 2);
  const trace::Trace t = again(source);
  CHECK(t.ops.size() == 2);
  CHECK(t.source.untimed_ops == 0);
  CHECK(t.ops.front().start_ns == 10000);
  CHECK(written(t) == written(source));
}

TEST_CASE("names are data: whatever bytes they are, the file is strict JSON", "[trace]") {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string name = std::string("a") + static_cast<char>(byte) + "b";
    CAPTURE(byte);
    const Json text = Json::parse(trace::json_quoted(name));  // throws on bad UTF-8 too
    CHECK(text.get<std::string>() == (byte < 128 ? name
                                                 : "a\xef\xbf\xbd"
                                                   "b"));
  }
  for (const char* good : {"\xc3\xa4", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x9f\x98\x80"})
    CHECK(Json::parse(trace::json_quoted(good)).get<std::string>() == good);
  for (const char* bad : {"\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xf0\x9f", "\xf8\x88\x80\x80\x80", "\xc3("})
    CHECK_NOTHROW(Json::parse(trace::json_quoted(bad)));
}

TEST_CASE("spans of a row are disjoint or nested; the rest goes to further rows", "[trace]") {
  trace::Lanes lanes;
  CHECK(lanes.lane_of(0, 100) == 0);
  CHECK(lanes.lane_of(10, 50) == 0);  // nested
  CHECK(lanes.lane_of(40, 60) == 1);  // over the end of the one before
  CHECK(lanes.lane_of(45, 70) == 2);
  CHECK(lanes.lane_of(50, 100) == 0);  // beside the first nested one
  CHECK(lanes.lane_of(60, 200) == 1);  // where a further row is free again
  CHECK(lanes.lane_of(100, 101) == 0);
}

TEST_CASE("a write that fails leaves what was there", "[trace]") {
  const Folder folder;
  folder.write("t.json", "before");
  CHECK_THROWS_AS(trace::write_chrome_trace(busy().read(), folder.file("no/t.json")), InputError);
  std::filesystem::create_directory(folder.path() / "d.json");
  CHECK_THROWS_AS(trace::write_chrome_trace(busy().read(), folder.file("d.json")), InputError);
  CHECK(content(folder.file("t.json")) == "before");
  const std::filesystem::directory_iterator all(folder.path());
  CHECK(std::distance(all, std::filesystem::directory_iterator()) == 2);  // nothing half-written
}

TEST_CASE("a trace that is written again keeps its mode and the link to it", "[trace]") {
  const Folder folder;
  folder.write("real.json", "{}");
  std::filesystem::permissions(folder.file("real.json"), std::filesystem::perms::owner_read |
                                                             std::filesystem::perms::owner_write);
  std::filesystem::create_symlink("real.json", folder.file("link.json"));
  trace::write_chrome_trace(busy().read(), folder.file("link.json"));
  CHECK(std::filesystem::is_symlink(folder.file("link.json")));
  CHECK(trace::read_trace(folder.file("real.json")).ops.size() == busy().read().ops.size());
  CHECK(std::filesystem::status(folder.file("real.json")).permissions() ==
        (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
}

TEST_CASE("trace convert writes what summary reads, and refuses other names", "[trace]") {
  const Folder folder;
  folder.write("t.json", busy().text());
  CHECK(nsatune(folder, "trace convert t.json out.json.gz").exit_code == 0);
  const Json before = json_of(nsatune(folder, "trace summary t.json --json"), "trace_summary");
  const Json after = json_of(nsatune(folder, "trace summary out.json.gz --json"), "trace_summary");
  CHECK(before["kernels_by_name"] == after["kernels_by_name"]);
  CHECK(before["idle_by_class_ns"] == after["idle_by_class_ns"]);
  CHECK(nsatune(folder, "trace convert t.json").exit_code == 2);
  CHECK(nsatune(folder, "trace convert t.json out.sqlite").exit_code == 2);
  CHECK(nsatune(folder, "trace convert t.json absent/out.json").exit_code == 2);
  folder.write("a.json", JsonTrace().kernel("k", 1, 0, 1).text());
  folder.write("b.json", JsonTrace().kernel("k", 1, 0, 1).text());
  const Result no_base = nsatune(folder, "trace convert a.json b.json both.json");
  CHECK(no_base.exit_code == 2);
  CHECK(no_base.err.find("absolute time") != std::string::npos);
}

TEST_CASE("real traces say the same after their conversion", "[trace]") {
  const char* data = std::getenv("NSATUNE_EXTERNAL_DATA");
  if (!data) {
    WARN("skipped: NSATUNE_EXTERNAL_DATA is not set");
    return;
  }
  std::size_t python = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(data) + "/traces")) {
    CAPTURE(entry.path().string());
    const trace::Trace source = trace::read_trace(entry.path().string());
    const trace::Trace converted = again(source);
    CHECK(figures(converted) == figures(source));
    CHECK(converted.python.size() == source.python.size());
    python += converted.python.size();
  }
  CHECK(python == 1385);
}

}  // namespace nsa::test
