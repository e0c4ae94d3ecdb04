// The critical path of programs whose truth is known: they are simulated, and so is every what-if.
#include "catch.hpp"
#include "nsa/trace/merge.hpp"
#include "nsa/trace/read.hpp"
#include "nsa/trace/summary_json.hpp"
#include "spool_builder.hpp"
#include "traces.hpp"

#include <algorithm>
#include <map>

namespace nsa::test {
namespace {

constexpr double kLag = 5;  // us from a launch call to the start on an idle stream

/// Two ranks, each with a stream that computes and one that communicates: forward, backward, and
/// an all-reduce of its gradients, which the optimizer waits for by an event. Times in us.
struct Program {
  std::map<std::string, double> takes{{"forward", 300},  {"backward0", 400}, {"backward1", 250},
                                      {"transfer", 120}, {"adam", 80},       {"copy", 30}};
  double host = 10;        // between two calls
  double straggles = 200;  // rank 1 computes that much longer in backward1
  double data = 90;        // before each step but the first, which has as much always
  double call = 2;
  int steps = 3;

  struct Op {
    std::string name;
    int stream = 7, rank = 0;
    double launched = 0, start = 0, end = 0;
  };
  std::vector<Op> ops;
  struct Call {
    std::string name;
    int rank = 0, op = -1;  // into ops: what it launched
    double start = 0, end = 0;
    int recorded_by = -1;  // of a wait for an event: the call that recorded it
  };
  std::vector<Call> calls;
  struct Span {
    int rank = 0;
    double start = 0, end = 0;
  };
  std::vector<Span> loads, spans;

  /// Times of all, by the rules of streams and events alone.
  void run() {
    double host_at[2] = {0, 0}, compute[2] = {0, 0}, comm[2] = {0, 0};
    for (int step = 0; step < steps; ++step) {
      int reduce[2] = {0, 0};
      double comm_from[2] = {0, 0};
      for (int rank = 0; rank < 2; ++rank) {
        const double began = host_at[rank];
        const double loads_for = step == 0 ? 90 : data;
        loads.push_back({rank, host_at[rank] + 1, host_at[rank] + loads_for});
        host_at[rank] += loads_for;
        spans.push_back({rank, began, 0});
        launch(rank, "copy", 7, host_at, compute, takes.at("copy"));
        launch(rank, "forward", 7, host_at, compute, takes.at("forward"));
        launch(rank, "backward0", 7, host_at, compute, takes.at("backward0"));
        const double backward0 = compute[rank];
        const int record = plain(rank, "cudaEventRecord", host_at);
        const int wait = plain(rank, "cudaStreamWaitEvent", host_at);
        calls[static_cast<std::size_t>(wait)].recorded_by = record;
        reduce[rank] = launch(rank, "ncclDevKernel_AllReduce_Sum_f32", 20, host_at, comm, 0);
        Op& op = ops[static_cast<std::size_t>(reduce[rank])];
        op.start = std::max(op.start, backward0);
        comm_from[rank] = op.start;
        launch(rank, "backward1", 7, host_at, compute,
               takes.at("backward1") + (rank == 1 ? straggles : 0));
      }
      for (int rank = 0; rank < 2; ++rank) {
        Op& op = ops[static_cast<std::size_t>(reduce[rank])];
        op.end = std::max(comm_from[0], comm_from[1]) + takes.at("transfer");
        comm[rank] = op.end;
        const int record = plain(rank, "cudaEventRecord", host_at);
        const int wait = plain(rank, "cudaStreamWaitEvent", host_at);
        calls[static_cast<std::size_t>(wait)].recorded_by = record;
        compute[rank] = std::max(compute[rank], op.end);
        launch(rank, "adam", 7, host_at, compute, takes.at("adam"));
        host_at[rank] += host;
        Call sync{"cudaStreamSynchronize", rank};
        sync.start = host_at[rank];
        sync.end = std::max(host_at[rank] + 1, compute[rank] + 1);
        host_at[rank] = sync.end;
        calls.push_back(sync);
        spans[spans.size() - 2 + static_cast<std::size_t>(rank)].end = host_at[rank];
      }
    }
  }

  double end() const {
    double last = 0;
    for (const Op& op : ops) last = std::max(last, op.end);
    return last;
  }

  std::string text(int rank) const {
    JsonTrace t;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Call& c = calls[i];
      if (c.rank != rank) continue;
      const int id = static_cast<int>(i) + 1;
      t.call(c.name, id, c.start, c.end - c.start);
      if (c.op >= 0) {
        const Op& op = ops[static_cast<std::size_t>(c.op)];
        if (op.name == "copy")
          t.event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", us(op.start),
                  us(op.end - op.start), args(op.stream, id, ", \"bytes\": 1000"));
        else
          t.kernel(op.name, id, op.start, op.end - op.start, op.stream);
      }
      if (c.recorded_by < 0) continue;
      const int to =
          calls[i + 1].op >= 0 ? ops[static_cast<std::size_t>(calls[i + 1].op)].stream : 7;
      t.event(
          "cuda_sync", "Stream Wait Event", us(c.start), "0",
          args(to, id,
               R"(, "cuda_sync_kind": "Stream Wait Event", "wait_on_stream": )" +
                   std::to_string(to == 7 ? 20 : 7) + R"(, "wait_on_cuda_event_record_corr_id": )" +
                   std::to_string(c.recorded_by + 1)));
    }
    int step = 0;
    for (const Span& s : spans)
      if (s.rank == rank)
        t.range("ProfilerStep#" + std::to_string(step++), s.start, s.end - s.start);
    for (const Span& s : loads)
      if (s.rank == rank)
        t.range("enumerate(DataLoader)#_SingleProcess.__next__", s.start, s.end - s.start);
    return R"({"host_name": "n1", "baseTimeNanoseconds": 1790000000000000000, "distributedInfo": )"
           R"({"rank": )" +
           std::to_string(rank) + R"(, "world_size": 2}, )" + t.text().substr(1);
  }

  static trace::Summary summary(Program program) {
    program.run();
    std::vector<trace::Trace> traces;
    for (int rank = 0; rank < 2; ++rank)
      traces.push_back(
          trace::read_json_trace(program.text(rank), "rank" + std::to_string(rank) + ".json"));
    return trace::summarize(trace::merge_traces(std::move(traces)));
  }

  /// How much sooner the last operation ends after a change.
  template <class Change>
  std::int64_t truth(Change change) const {
    Program before = *this, after = *this;
    before.run();
    change(after);
    after.run();
    return std::llround(1000 * (before.end() - after.end()));
  }

 private:
  static std::string us(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.3f", value);
    return text;
  }
  static std::string args(int stream, int id, const std::string& more) {
    return R"(, "pid": 0, "tid": 7, "args": {"device": 0, "stream": )" + std::to_string(stream) +
           R"(, "correlation": )" + std::to_string(id) + more + "}";
  }

  int plain(int rank, const char* name, double* host_at) {
    host_at[rank] += host;
    calls.push_back({name, rank, -1, host_at[rank], host_at[rank] + call, -1});
    host_at[rank] += call;
    return static_cast<int>(calls.size()) - 1;
  }
  int launch(int rank, const char* name, int stream, double* host_at, double* stream_at,
             double duration) {
    const int number = plain(rank, "cudaLaunchKernel", host_at);
    const double launched = calls.back().start;
    calls.back().op = static_cast<int>(ops.size());
    Op op{name, stream, rank, launched, std::max(launched + kLag, stream_at[rank]), 0};
    op.end = op.start + duration;
    stream_at[rank] = op.end;
    ops.push_back(op);
    (void)number;
    return static_cast<int>(ops.size()) - 1;
  }
};

const trace::WhatIf* asked(const trace::CriticalPath& path, const std::string& what,
                           const std::string& name = "") {
  for (const trace::WhatIf& one : path.what_if)
    if (one.what == what && one.name == name) return &one;
  return nullptr;
}

}  // namespace

TEST_CASE("the critical path of two streams on two ranks is the truth to the nanosecond",
          "[trace]") {
  const Program program;
  const auto s = Program::summary(program);
  REQUIRE(s.critical_path);
  const trace::CriticalPath& path = *s.critical_path;
  CHECK(path.events == "recorded");
  CHECK(path.steps == 3);
  std::int64_t sum = 0;
  for (const auto& part : path.parts) sum += part.total_ns;
  CHECK(sum == path.length_ns);
  Program run = program;
  run.run();
  CHECK(path.start_ns + path.length_ns == std::llround(1000 * run.end()));
  CHECK_NOTHROW(validate_json(trace::to_document(s), "trace_summary", "test"));
}

TEST_CASE("what a trace would be without a part is what its simulation says", "[trace]") {
  // Long transfers, long kernels, a slow host, a slow loader: another thing limits each of them.
  std::vector<Program> programs(6);
  programs[1].takes["transfer"] = 900;
  programs[2].straggles = 1500;
  programs[3].host = 400;
  programs[4].data = 3000;
  programs[5].takes["copy"] = 700;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    CAPTURE(i);
    const Program& program = programs[i];
    const auto s = Program::summary(program);
    const trace::CriticalPath& path = *s.critical_path;
    for (const char* kernel : {"forward", "backward0", "adam"}) {
      const auto* one = asked(path, "kernel", kernel);
      if (!one) continue;
      CAPTURE(kernel);
      CHECK(one->gain_ns == program.truth([&](Program& p) { p.takes[kernel] = 0; }));
    }
    REQUIRE(asked(path, "copy"));
    CHECK(asked(path, "copy")->gain_ns == program.truth([](Program& p) { p.takes["copy"] = 0; }));
    REQUIRE(asked(path, "data_loading"));
    CHECK(asked(path, "data_loading")->gain_ns == program.truth([](Program& p) { p.data = 1; }));
  }
}

TEST_CASE("without records of events the waits that show are inferred", "[trace]") {
  // The optimizer waits for a long all-reduce, and the host for nothing.
  JsonTrace t;
  t.launched("backward", 1, 0, 5, 100).call("cudaEventRecord", 2, 10, 1);
  t.call("cudaStreamWaitEvent", 3, 12, 1);
  t.launched("ncclDevKernel_AllReduce", 4, 14, 105, 500, 20).call("cudaEventRecord", 5, 20, 1);
  t.call("cudaStreamWaitEvent", 6, 22, 1).launched("adam", 7, 24, 605, 50);
  const auto s = t.summary();
  REQUIRE(s.critical_path);
  const trace::CriticalPath& path = *s.critical_path;
  CHECK(path.events == "inferred");
  REQUIRE(asked(path, "kernel", "adam"));
  CHECK(asked(path, "kernel", "adam")->gain_ns == 50'000);
  // Without it backward and the optimizer run one after the other.
  CHECK(asked(path, "collective")->gain_ns == 500'000);
  CHECK(asked(path, "kernel", "backward")->gain_ns == 100'000 - 14'000);
}

TEST_CASE("streams of a spool wait for the events that were recorded, and else where it shows",
          "[trace]") {
  // Far behind the host, in each step: the first kernel on stream 7, beside it the second on 20,
  // then the third on 7.
  const bool recorded = GENERATE(true, false);
  constexpr std::int64_t kSteps = 4;
  SpoolBuilder spool;
  std::uint64_t id = 0;
  std::int64_t host = 0;
  const auto call = [&](const char* name) {
    spool::SpoolApi api;
    api.start_ns = host += 100;
    api.end_ns = api.start_ns + 50;
    api.correlation = ++id;
    api.name = spool.text(name);
    api.thread = 11;
    spool.append(api);
  };
  const auto wait = [&](std::uint32_t from, std::uint32_t to) {
    call("cudaEventRecord_v3020");
    spool::SpoolEvent event;
    event.correlation = id;
    event.sync = static_cast<std::uint32_t>(id);
    event.stream = from;
    if (recorded) spool.append(event);
    call("cudaStreamWaitEvent_v3020");
    spool::SpoolSync sync;
    sync.start_ns = host;
    sync.end_ns = host + 20;
    sync.correlation = id;
    sync.type = 2;  // of a stream, for an event
    sync.stream = to;
    sync.event_sync = event.sync;
    spool.append(sync);
  };
  const auto launch = [&](const char* name, std::int64_t start_ns, std::int64_t duration_ns,
                          std::uint32_t stream) {
    spool.launched(name, ++id, host += 100, start_ns, duration_ns, 11, stream);
  };
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const std::int64_t begin = 100'000 + 400'000 * step;
    wait(7, 20);
    launch("first", begin, 300'000, 7);
    launch("second", begin, 200'000, 20);
    wait(20, 7);
    launch("third", begin + 300'000, 100'000, 7);
  }
  const auto s = trace::summarize(trace::read_spool_trace(spool.bytes(), "t.nsaspool"));
  REQUIRE(s.critical_path);
  const trace::CriticalPath& path = *s.critical_path;
  CHECK(path.events == (recorded ? "recorded" : "inferred"));
  REQUIRE(asked(path, "kernel", "third"));
  CHECK(asked(path, "kernel", "third")->gain_ns == kSteps * 100'000);
  // That the third waits for the second does not show in the times.
  REQUIRE(asked(path, "kernel", "first"));
  if (recorded) CHECK(asked(path, "kernel", "first")->gain_ns == kSteps * 100'000);
}

TEST_CASE("what ran beside kernels of another stream wins at least what is said", "[trace]") {
  JsonTrace t;
  t.launched("long", 2, 12, 20, 100);
  t.launched("ncclDevKernel_AllReduce", 3, 14, 30, 20, 20).launched("after", 4, 16, 120, 40);
  const auto s = t.summary();
  REQUIRE(s.critical_path);
  const trace::CriticalPath& path = *s.critical_path;
  for (const char* kernel : {"long", "after"}) REQUIRE(asked(path, "kernel", kernel));
  CHECK(asked(path, "kernel", "long")->at_least);
  CHECK_FALSE(asked(path, "kernel", "after")->at_least);
  REQUIRE(asked(path, "collective"));
  CHECK(asked(path, "collective")->at_least);
  const Json document = trace::to_document(s);
  CHECK_NOTHROW(validate_json(document, "trace_summary", "test"));
  for (const Json& one : document.at("critical_path").at("what_if"))
    CHECK(one.at("at_least") == (one.at("name") == "long" || one.at("what") == "collective"));
}

TEST_CASE("kernels of one stream, or of two devices, do not share: what-ifs are no bounds",
          "[trace]") {
  JsonTrace t;
  t.launched("first", 1, 0, 5, 50).launched("second", 2, 10, 40, 50);  // one stream, overlapping
  t.call("cudaLaunchKernel", 3, 12, 1).kernel("other device", 3, 20, 100, 9, 1);
  const auto s = t.summary();
  REQUIRE(s.critical_path);
  REQUIRE_FALSE(s.critical_path->what_if.empty());
  for (const trace::WhatIf& one : s.critical_path->what_if) CHECK_FALSE(one.at_least);
}

TEST_CASE("work of another thread goes on where the first one handed over", "[trace]") {
  JsonTrace t;
  t.launched("forward", 1, 0, 5, 10).call("cudaLaunchKernel", 2, 100, 1, 2);
  t.kernel("backward", 2, 105, 10)
      .call("cudaLaunchKernel", 3, 201, 1, 1)
      .kernel("adam", 3, 206, 10);
  const auto s = t.summary();
  const trace::CriticalPath& path = *s.critical_path;
  CHECK(path.start_ns == 0);
  CHECK(path.length_ns == 216'000);
  REQUIRE(asked(path, "host"));
  CHECK(asked(path, "host")->gain_ns == 216'000 - 5'000 - 30'000);
}

TEST_CASE("a call that waits in a full queue returns sooner when kernels are shorter", "[trace]") {
  struct Kernel {
    const char* name;
    double us;
  };
  // A host that is ahead of its stream by as much as the queue holds.
  const auto play = [](const std::vector<Kernel>& step, JsonTrace* t) {
    constexpr int kSteps = 400, kPlaces = 300;
    constexpr double kHost = 2, kCall = 3, kAfter = 1;
    double host_at = 0, last = 0;
    std::vector<double> ends;
    for (int i = 0; i < kSteps * static_cast<int>(step.size()); ++i) {
      const Kernel& kernel = step[static_cast<std::size_t>(i) % step.size()];
      const double call = host_at + kHost, start = std::max(call + kLag, last);
      host_at = call + kCall;
      if (i >= kPlaces)
        host_at = std::max(host_at, ends[static_cast<std::size_t>(i - kPlaces)] + kAfter);
      last = start + kernel.us;
      ends.push_back(last);
      if (!t) continue;
      t->call("cudaLaunchKernel", i + 1, call, host_at - call);
      t->kernel(kernel.name, i + 1, start, kernel.us);
    }
    return last;
  };
  for (const double second : {20.0, 2.0}) {  // the device's time, then the host's is what is left
    const std::vector<Kernel> step{{"first", 30}, {"second", second}, {"third", 10}};
    JsonTrace t;
    const double end = play(step, &t);
    const auto s = t.summary();
    REQUIRE(s.critical_path);
    for (std::size_t without = 0; without < step.size(); ++without) {
      std::vector<Kernel> shorter = step;
      shorter[without].us = 0;
      const auto* one = asked(*s.critical_path, "kernel", step[without].name);
      CAPTURE(second, step[without].name);
      REQUIRE(one);
      CHECK(one->gain_ns == std::llround(1000 * (end - play(shorter, nullptr))));
    }
  }
}

TEST_CASE("what runs on clocks that cannot be compared has no critical path", "[trace]") {
  CHECK_FALSE(trace::summarize(trace::Trace{}).critical_path);
}

}  // namespace nsa::test
