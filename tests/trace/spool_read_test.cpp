// Spools as traces: what a tracer appended, also when its program was killed, and several on one
// time line.
#include <algorithm>

#include "../cli/program.hpp"
#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/read.hpp"
#include "nsa/trace/summary_json.hpp"
#include "nsa/trace/write.hpp"
#include "spool_builder.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

using namespace spool;

trace::Trace read(const SpoolBuilder& spool) {
  return trace::read_spool_trace(spool.bytes(), "t.nsaspool");
}

SpoolBuilder of_rank(int rank, const char* host) {
  SpoolHeader header;
  header.process = 42;  // the same pid in every container
  header.rank = rank;
  header.world_size = 2;
  header.start_ns = 1000;
  header.start_realtime_ns = 1'790'000'000'000'001'000 + rank * 500;  // half a microsecond later
  SpoolBuilder spool(header);
  spool.metadata("host", host).metadata("command", "train");
  spool.range("step 1", 1000, 9000).range("score", 1100, 1500);
  spool.launched("k", 1, 1200, 2000, 300).launched("ncclDevKernel", 2, 1600, 2400, 100);
  return spool.totals(2, 2);
}

std::string refusal_of(const SpoolBuilder& spool) {
  try {
    read(spool);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

/// Three steps, marked by the recorder, with a kernel each.
SpoolBuilder three_steps(const std::vector<std::string>& names) {
  SpoolBuilder spool;
  for (std::int64_t i = 0; i < 3; ++i) {
    const std::int64_t at = 1000 * (i + 1);
    const std::string& name = names[static_cast<std::size_t>(i) % names.size()];
    spool.step(name, at + 1, i).range(name, at, at + 800);
    spool.launched("k", static_cast<std::uint64_t>(i) + 1, at + 100, at + 200, 30);
  }
  return spool;
}

/// Names of steps, also after the trace was written and read again.
std::vector<std::string> steps_of(const trace::Trace& t) {
  const auto names = [](const trace::Trace& of) {
    std::vector<std::string> out;
    for (const trace::Step& step : trace::summarize(of).steps.value_or(std::vector<trace::Step>{}))
      out.push_back(step.name);
    return out;
  };
  const Folder folder;
  trace::write_chrome_trace(t, folder.file("t.json"));
  CHECK(names(trace::read_trace(folder.file("t.json"))) == names(t));
  return names(t);
}

}  // namespace

TEST_CASE("a spool is a trace: launches, stages, steps, totals", "[trace]") {
  const trace::Trace t = read(of_rank(1, "a"));
  const trace::Summary s = trace::summarize(t);
  CHECK(s.gpu->kernels == 2);
  CHECK(s.launch_apis == std::map<std::string, std::int64_t>{{"cudaLaunchKernel", 2}});
  REQUIRE(s.stages->size() == 2);
  CHECK(s.stages->at(0).stage == "score");
  CHECK(s.stages->at(1).stage == "communication");
  CHECK(s.steps->at(0).name == "step 1");
  CHECK(s.rank == 1);
  CHECK(s.base_time_ns == 1'790'000'000'000'000'500);
  REQUIRE(s.recording);
  CHECK(s.recording->at(0).totals.complete);
  CHECK(s.recording->at(0).all_there == true);
  CHECK(t.processes.at(0).metadata.at("command") == "train");
  CHECK(t.shapes.at(t.ops.at(0).shape).block[0] == 128);
  CHECK_NOTHROW(validate_json(trace::to_document(s), "trace_summary", "test"));
}

TEST_CASE("what was recorded as a step is listed as one, whatever it is called", "[trace]") {
  using Names = std::vector<std::string>;
  CHECK(steps_of(read(three_steps({"step 7", "step 8", "step 9"}))) ==
        Names{"step 7", "step 8", "step 9"});
  CHECK(steps_of(read(three_steps({"batch:7", "batch:8", "batch:9"}))) ==
        Names{"batch:7", "batch:8", "batch:9"});
  CHECK(steps_of(read(three_steps({"train_step"}))) ==
        Names{"train_step #1", "train_step #2", "train_step #3"});
  // Asked for by --step-name.
  SpoolBuilder named = three_steps({"layer 3 of all"});
  named.range("layer 4 of all", 1850, 1900).range("step 1", 1100, 1400);
  CHECK(steps_of(read(named)) ==
        Names{"layer 3 of all #1", "layer 3 of all #2", "layer 3 of all #3"});
  const trace::Summary s = trace::summarize(read(named));
  CHECK(s.steps->at(0).gpu->kernels == 1);
  CHECK(s.steps->at(0).duration_ns == 1000);
  CHECK(std::none_of(s.stages->begin(), s.stages->end(),
                     [](const auto& row) { return row.stage == "layer N of all"; }));
}

TEST_CASE("a recorded step may end on another thread", "[trace]") {
  SpoolBuilder spool;
  for (std::uint64_t i = 0; i < 3; ++i) {
    SpoolMarker m;
    m.at_ns = 1000 * static_cast<std::int64_t>(i + 1);
    m.id = 500 + i;
    m.what = MarkerWhat::begin;
    m.name = spool.text("serve");
    m.thread = 11;
    spool.step("serve", m.at_ns, static_cast<std::int64_t>(i)).append(m);
    spool.launched("k", i + 1, m.at_ns + 100, m.at_ns + 200, 30);
    m.at_ns += 900;
    m.what = MarkerWhat::end;
    m.thread = 12;
    spool.append(m);
  }
  CHECK(steps_of(read(spool)) == std::vector<std::string>{"serve #1", "serve #2", "serve #3"});
}

TEST_CASE("passes that the hook in Python recorded are modules", "[trace]") {
  SpoolBuilder spool;
  spool.hooked("forward Net", 1000, 5000).hooked("forward layers.0 (Block)", 2000, 3000);
  spool.hooked("forward layers.0 (Block)", 3500, 4000);
  spool.launched("before", 1, 1500, 1600, 10).launched("in it", 2, 2100, 2200, 20);
  spool.launched("again", 3, 3600, 3700, 40);
  spool.hooked("backward Net", 6000, 9000, 12).hooked("backward layers.0 (Block)", 7000, 8000, 12);
  spool.launched("its gradient", 4, 7100, 7200, 300, 12);
  spool.range("forward pass", 100, 500).launched("elsewhere", 5, 200, 300, 7);  // the program's own
  // Of a graph that was captured in a module's forward pass, and is replayed in none.
  SpoolApi launch;
  launch.start_ns = 9500, launch.end_ns = 9550, launch.correlation = 9;
  launch.name = spool.text("cudaGraphLaunch");
  SpoolKernel k;
  k.start_ns = 9600, k.end_ns = 10600, k.correlation = 9, k.graph = 3, k.graph_node = 1;
  k.name = spool.text("_Z1kv");
  SpoolStage stage;
  stage.id = 1, stage.of = StageOf::graph_node,
  stage.stage = spool.text("forward layers.0 (Block)");
  spool.append(launch).append(k).append(stage);

  const trace::Trace t = read(spool);
  const Folder folder;
  trace::write_chrome_trace(t, folder.file("t.json"));
  const trace::Trace again = trace::read_trace(folder.file("t.json"));
  for (const trace::Trace* of : {&t, &again}) {
    const trace::Summary s = trace::summarize(*of);
    REQUIRE(s.modules);
    CHECK(s.null_reasons.count("modules") == 0);
    REQUIRE(s.modules->size() == 2);
    const trace::ModuleRow& block = s.modules->at(0);
    CHECK(block.name == "layers.0 (Block)");
    CHECK(block.count == 2);
    CHECK(block.host_ns == 1500);
    CHECK(block.gpu_ns == 20 + 40 + 1000);
    CHECK(block.gpu_self_ns == block.gpu_ns);
    CHECK(block.backward_ns == 300);
    const trace::ModuleRow& net = s.modules->at(1);
    CHECK(net.name == "Net");
    CHECK(net.count == 1);
    CHECK(net.gpu_ns == 10 + 20 + 40);
    CHECK(net.gpu_self_ns == 10);
    CHECK(net.backward_ns == 300);
    CHECK_NOTHROW(validate_json(trace::to_document(s), "trace_summary", "test"));
  }
  CHECK_FALSE(trace::summarize(read(three_steps({"step 1"}))).modules);
}

TEST_CASE("a killed program's spool is read as far as it goes, and says so", "[trace]") {
  SpoolBuilder spool;
  spool.launched("k", 1, 100, 200, 30).totals(1, 1, 0, 0);
  SpoolMarker open;
  open.at_ns = 300;
  open.what = MarkerWhat::begin;
  open.id = 77;
  open.name = spool.text("attend_selected");
  open.thread = 11;
  spool.append(open).launched("k", 2, 310, 400, 30);
  const std::string torn = spool.bytes().substr(0, spool.bytes().size() - 20);
  const trace::Trace t = trace::read_spool_trace(torn, "t.nsaspool");
  CHECK(t.ops.size() == 1);    // the second kernel is the torn record
  CHECK(t.calls.size() == 2);  // its call is not
  REQUIRE(t.ranges.size() == 1);
  CHECK(t.ranges[0].open);
  const trace::Totals totals = *t.processes.at(0).totals;
  CHECK_FALSE(totals.complete);
  CHECK(totals.torn_bytes == 100);
  CHECK(totals.recorded == 1);
  CHECK(totals.launches == 1);
  // Whole, but without the exit handler's totals.
  CHECK_FALSE(read(SpoolBuilder().launched("k", 1, 1, 2, 3)).processes.at(0).totals->complete);
}

TEST_CASE("what does not add up is said", "[trace]") {
  const auto all_there = [](std::uint64_t launches, std::uint64_t dropped) {
    SpoolBuilder spool;
    spool.launched("k", 1, 100, 200, 30).totals(launches, 1, dropped);
    return trace::summarize(read(spool)).recording->at(0).all_there;
  };
  CHECK(all_there(1, 0) == true);
  CHECK(all_there(4, 3) == true);
  CHECK(all_there(4, 0) == false);
  CHECK(all_there(kNotCounted, 0) == std::nullopt);
}

TEST_CASE("stages come from graph nodes where no range stands around the launch", "[trace]") {
  SpoolBuilder spool;
  SpoolApi launch;
  launch.start_ns = 100, launch.end_ns = 150, launch.correlation = 9;
  launch.name = spool.text("cudaGraphLaunch");
  spool.append(launch);
  for (const std::uint64_t node : {1, 2}) {
    SpoolKernel k;
    k.start_ns = 200 * static_cast<std::int64_t>(node), k.end_ns = k.start_ns + 10;
    k.correlation = 9, k.graph = 3, k.graph_node = node;
    k.name = spool.text("_Z1kv");
    SpoolStage stage;
    stage.id = node, stage.of = StageOf::graph_node;
    stage.stage = spool.text(node == 1 ? "compress" : "attend_window");
    spool.append(k).append(stage);
  }
  const trace::Trace t = read(spool);
  const trace::Summary s = trace::summarize(t);
  CHECK(s.unattributed_ns == 0);
  CHECK(s.stages->size() == 2);
  CHECK(s.gpu_ops_with_launch == 2);
  CHECK(t.names.text(t.ops.at(0).name) == "k()");
}

TEST_CASE("marks are paired in the order of their times, whatever their order in the file",
          "[trace]") {
  SpoolBuilder spool;
  SpoolMarker m;
  m.thread = 1, m.id = 5, m.at_ns = 20, m.what = MarkerWhat::end;
  spool.append(m);
  m.at_ns = 10, m.what = MarkerWhat::begin, m.name = spool.text("late");
  spool.append(m);
  m.id = 6, m.at_ns = 30, m.what = MarkerWhat::end, m.name = 0;
  spool.append(m);
  m.what = MarkerWhat::begin, m.name = spool.text("of no length");
  const trace::Trace t = read(spool.append(m));
  REQUIRE(t.ranges.size() == 2);
  CHECK_FALSE(t.ranges[0].open);
  CHECK(t.ranges[0].end_ns == 20);
  CHECK_FALSE(t.ranges[1].open);
  CHECK(t.ranges[1].start_ns == t.ranges[1].end_ns);
}

TEST_CASE("what was sent belongs to the range of its name, thread and moment", "[trace]") {
  SpoolBuilder spool;
  spool.range("ncclSend", 100, 200).range("ncclSend", 300, 400).range("ncclSend", 300, 400, 12);
  spool.range("ncclRecv", 310, 390);
  spool.sent("ncclSend", 350, 7, 0, 0);                                // the second one
  spool.sent("ncclSend", 250, 8, 1, 2).sent("ncclSend", 50, 9, 1, 2);  // in none
  spool.sent("ncclBroadcast", 350, 10, 1, 2);
  const trace::Trace t = read(spool);
  REQUIRE(t.ranges.size() == 4);
  int with = 0;
  for (const trace::HostRange& range : t.ranges) {
    if (range.arguments == trace::kNoName) continue;
    ++with;
    CHECK(range.start_ns == 300);
    CHECK(t.names.text(range.name) == "ncclSend");
    CHECK(t.threads.at(range.thread).tid == "11");
    CHECK(t.names.text(range.arguments) == R"("Message size [bytes]":7)");
  }
  CHECK(with == 1);
}

TEST_CASE("a range that ends on another thread is no range of one thread", "[trace]") {
  SpoolBuilder spool;
  SpoolMarker m;
  m.at_ns = 10, m.what = MarkerWhat::begin, m.id = 5, m.name = spool.text("request"), m.thread = 1;
  spool.append(m);
  m.at_ns = 20, m.what = MarkerWhat::end, m.thread = 2;
  spool.append(m);
  const trace::Trace t = read(spool);
  CHECK(t.ranges.empty());
  REQUIRE(t.async_ranges.size() == 1);
  CHECK(t.async_ranges[0].end_ns == 20);
}

TEST_CASE(
    "where another tool held CUPTI, ranges have their times on the GPU, and all steps are one row",
    "[trace]") {
  SpoolBuilder spool;
  for (const std::int64_t step : {0, 1, 2}) {
    const std::int64_t at = 1000 * step;
    spool.range("step " + std::to_string(step), at, at + 900).range("score", at + 100, at + 200);
    spool.gpu_range("step " + std::to_string(step), at + 50, at + 950 + step);
    spool.gpu_range("score", at + 300, at + 400 + 10 * step);
  }
  const trace::Trace t = read(spool);
  REQUIRE(t.gpu_ranges.size() == 6);
  CHECK(t.gpu_ranges[0].stream == -1);
  const trace::Summary s = trace::summarize(t);
  CHECK_FALSE(s.gpu);
  CHECK(s.steps->size() == 3);
  REQUIRE(s.gpu_ranges_by_name);
  REQUIRE(s.gpu_ranges_by_name->size() == 2);
  const trace::TimesByName &steps = s.gpu_ranges_by_name->at(0),
                           &score = s.gpu_ranges_by_name->at(1);
  CHECK(steps.name == "step N");
  CHECK(steps.count == 3);
  CHECK(steps.total_ns == 2703);
  CHECK(score.name == "score");
  CHECK(score.min_ns == 100);
  CHECK(score.median_ns == 110);
  CHECK(score.max_ns == 120);
  CHECK_NOTHROW(validate_json(trace::to_document(s), "trace_summary", "test"));
}

TEST_CASE("kernels in a hang's report are named as people write them", "[trace]") {
  SpoolBuilder spool;
  SpoolNote note;
  note.what = NoteWhat::hang;
  note.text = spool.text("nothing ended\n  last kernel: _Z6kernelIfEvPT_ of 3 ");
  const trace::ProcessInfo process = read(spool.append(note)).processes.at(0);
  REQUIRE(process.notes.size() == 1);
  CHECK(process.notes[0].what == "hang");
  CHECK(process.notes[0].text == "nothing ended\n  last kernel: void kernel<float>(float*) of 3 ");
}

TEST_CASE("ranks of one machine share its clock", "[trace]") {
  std::vector<trace::Trace> traces;
  traces.push_back(read(of_rank(1, "a")));
  traces.push_back(read(of_rank(0, "a")));
  const trace::Trace t = trace::merge_traces(std::move(traces));
  CHECK(t.source.format == "merged");
  CHECK(t.source.clocks->alignment == trace::ClockAlignment::one_clock);
  CHECK(t.processes.at(0).rank == 0);
  CHECK(t.processes.at(1).rank == 1);
  CHECK(t.ops.at(0).start_ns == 2000);
  CHECK(t.ops.at(2).start_ns == 2400);
  const trace::Summary s = trace::summarize(t);
  CHECK(s.gpu_ops_with_launch == 4);  // correlation ids are those of each process
  CHECK(s.recording->size() == 2);
}

TEST_CASE("spools that are wrong are refused with the byte", "[trace]") {
  SpoolKernel k;
  k.start_ns = 5, k.end_ns = 4;
  CHECK(refusal_of(SpoolBuilder().append(k)).find("byte 64: an end before its start") !=
        std::string::npos);
  k.end_ns = INT64_MAX;
  CHECK(refusal_of(SpoolBuilder().append(k)).find("out of range") != std::string::npos);
  k.end_ns = 6, k.name = 12345;
  CHECK(refusal_of(SpoolBuilder().append(k)).find("text number 12345 is nowhere") !=
        std::string::npos);
  SpoolDevice device;
  device.id = -1;
  CHECK(refusal_of(SpoolBuilder().append(device)).find("device id") != std::string::npos);
  SpoolGpuRange range;
  range.device = -1;
  CHECK(refusal_of(SpoolBuilder().append(range)).find("device id") != std::string::npos);
  range.device = 0, range.end_ns = -1;
  CHECK(refusal_of(SpoolBuilder().append(range)).find("an end before its start") !=
        std::string::npos);
  SpoolText text;
  text.record.bytes = sizeof text;
  CHECK(refusal_of(SpoolBuilder().append(text)).find("number 0") != std::string::npos);
  text.id = 4'000'000'000;
  CHECK(refusal_of(SpoolBuilder().append(text)).find("number 4000000000") != std::string::npos);
}

}  // namespace nsa::test
