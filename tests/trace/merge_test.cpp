// Recordings of several ranks: what is on one time line, and what is not.
#include "nsa/trace/merge.hpp"

#include <algorithm>

#include "../cli/program.hpp"
#include "catch.hpp"
#include "nsa/trace/summary_json.hpp"
#include "nsa/trace/write.hpp"
#include "spool_builder.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

using trace::ClockAlignment;

/// PyTorch's file of a rank. Its clock is `clock_us` ahead of that of rank 0; `late_us` says how
/// much later than elsewhere its own work happens.
struct Rank {
  int rank = 0;
  double clock_us = 0, late_us = 0;
  std::string keys{};  // beside the events
  int collectives = 4;
  bool steps = true;

  std::string text() const {
    JsonTrace t;
    const double at = clock_us + late_us;
    for (int i = 0; i < 4; ++i) {
      const double step = 1000.0 * i;
      if (steps) t.range("ProfilerStep#" + std::to_string(7 + i), at + step, 900);
      t.launched("compute", 10 * i + 1, at + step + 10, at + step + 20, 300);
      t.launched("sgd", 10 * i + 2, at + step + 700, at + step + 710, 50);
      if (i >= collectives) continue;
      t.call("cudaLaunchKernel", 10 * i + 3, at + step + 30, 0.1);
      const double end = clock_us + step + 600 + i;  // everywhere at once, but for some jitter
      t.kernel("ncclDevKernel_AllReduce", 10 * i + 3, at + step + 320, end - (at + step + 320), 20);
    }
    return "{" + keys + R"("distributedInfo": {"rank": )" + std::to_string(rank) +
           R"(, "world_size": 2}, )" + t.text().substr(1);
  }
  trace::Trace read() const {
    return trace::read_json_trace(text(), "rank" + std::to_string(rank) + ".json");
  }
};

trace::Trace merged(const Rank& a, const Rank& b) {
  std::vector<trace::Trace> traces;
  traces.push_back(b.read());
  traces.push_back(a.read());
  return trace::merge_traces(std::move(traces));
}

trace::Trace spool(int rank, const char* host, std::int64_t clock_ns, std::int64_t start_ns) {
  spool::SpoolHeader header;
  header.process = 42;
  header.rank = rank;
  header.start_ns = clock_ns;
  header.start_realtime_ns = 1'790'000'000'000'000'000;
  SpoolBuilder builder(header);
  builder.metadata("host", host).launched("k", 1, start_ns, start_ns + 100, 300);
  return trace::read_spool_trace(builder.totals(1, 1).bytes(), std::string(host) + ".nsaspool");
}

}  // namespace

TEST_CASE("clocks of several hosts are aligned by the ends of common collectives", "[trace]") {
  const trace::Trace t = merged({.rank = 0}, {.rank = 1, .clock_us = 5'000'000, .late_us = 100});
  REQUIRE(t.source.clocks);
  CHECK(t.source.clocks->alignment == ClockAlignment::collectives);
  CHECK(t.source.clocks->spread_ns == 0);
  CHECK(t.source.clocks->assumption.find("n-th collective") != std::string::npos);
  CHECK(t.source.clocks->assumption.find("(2 hosts, not all of them named)") != std::string::npos);
  const trace::Summary s = trace::summarize(t);
  REQUIRE(s.gpu);
  CHECK(s.gpu->span_ns == 3'840'000);  // 20 us to 3,860 us; rank 1 works 100 us later
  CHECK(s.gpu->comm_ns == 4 * (280'000 + 180'000) + 2 * 6'000);  // of each rank its own
  CHECK(s.gpu->kernels == 24);
  REQUIRE(s.devices.size() == 2);  // each rank calls its GPU 0
  CHECK(s.devices[0].part == 0);
  CHECK(s.devices[1].part == 1);
  CHECK(s.devices[1].gpu.comm_ns == 4 * 180'000 + 6'000);
  CHECK(s.steps->size() == 8);
}

namespace {

/// A rank of a pipeline without a host name: six collectives in a group of its stage, and where
/// `across` names one, one in a group with a rank of another stage.
struct StageRank {
  int rank = 0;
  std::string group, across{};
  double clock_us = 0, late_us = 0;
  int first = 0;  // of the six, where the recording begins later
  bool numbered = true, steps = false;

  trace::Trace read() const {
    JsonTrace t;
    int id = 0;
    const auto collective = [&](const std::string& of, int number, double end) {
      const std::string sequence =
          numbered ? R"(, "Seq": )" + std::to_string(number + 1) : std::string();
      ++id;
      t.op("record_param_comms", end - 120, 10,
           R"("Collective name": "allreduce", "dtype": "Float", "Group size": 2, )"
           R"("Process Group Name": ")" +
               of + R"(", "Process Group Ranks": "of )" + of + "\"" + sequence);
      t.launched("ncclDevKernel_AllReduce", id, end - 115, end - 100, 100);
    };
    for (int i = first; i < 6; ++i) {
      const double at = clock_us + late_us + 1000 + 20'000.0 * i;
      if (steps) t.range("ProfilerStep#" + std::to_string(i), at, 19'000);
      collective(group, i, at + 3000);
    }
    if (!across.empty()) collective(across, 0, clock_us + 150'000);
    const std::string text =
        R"({"baseTimeNanoseconds": 1790000000000000000, "distributedInfo": {"rank": )" +
        std::to_string(rank) + R"(, "world_size": 4}, )" + t.text().substr(1);
    return trace::read_json_trace(text, "rank" + std::to_string(rank) + ".json");
  }
};

trace::Trace merged(const std::vector<StageRank>& ranks) {
  std::vector<trace::Trace> traces;
  for (const StageRank& rank : ranks) traces.push_back(rank.read());
  return trace::merge_traces(std::move(traces));
}

/// When the first operation of each recording starts, after that of the first one.
std::vector<std::int64_t> first_ops(const trace::Trace& t) {
  std::vector<std::int64_t> out(t.processes.size(), trace::kMaxTimeNs);
  for (const trace::GpuOp& op : t.ops) out[op.process] = std::min(out[op.process], op.start_ns);
  for (std::size_t i = out.size(); i-- > 0;) out[i] -= out[0];
  return out;
}

}  // namespace

TEST_CASE("collectives of different process groups are never the same ones", "[trace]") {
  for (const bool steps : {false, true}) {
    CAPTURE(steps);
    const trace::Trace t =
        merged({{.rank = 0, .group = "tp0", .steps = steps},
                {.rank = 1, .group = "tp0", .clock_us = 700, .steps = steps},
                {.rank = 2, .group = "tp1", .late_us = 5000, .steps = steps},
                {.rank = 3, .group = "tp1", .clock_us = 900, .late_us = 5000, .steps = steps}});
    CHECK(t.source.clocks->alignment == ClockAlignment::absolute_times);
    CHECK(t.source.clocks->assumption.find("2 of 4 recordings share no process group") == 0);
    // Each stage on one clock, the second one where its own absolute times put it.
    CHECK(first_ops(t) == std::vector<std::int64_t>{0, 0, 5'000'000, 5'000'000});
  }
}

TEST_CASE("clocks are aligned through ranks that share a group with both", "[trace]") {
  const trace::Trace t =
      merged({{.rank = 0, .group = "tp0", .clock_us = 10'000},
              {.rank = 1, .group = "tp0", .across = "pp", .clock_us = 700},
              {.rank = 2, .group = "tp1", .late_us = 5000},
              {.rank = 3, .group = "tp1", .across = "pp", .clock_us = 900, .late_us = 5000}});
  CHECK(t.source.clocks->alignment == ClockAlignment::collectives);
  CHECK(t.source.clocks->spread_ns == 0);
  CHECK(first_ops(t) == std::vector<std::int64_t>{0, 0, 5'000'000, 5'000'000});
}

TEST_CASE("numbers of collectives align recordings that begin at different moments", "[trace]") {
  for (const bool numbered : {true, false}) {
    CAPTURE(numbered);
    const trace::Trace t =
        merged({{.rank = 0, .group = "dp", .numbered = numbered},
                {.rank = 1, .group = "dp", .clock_us = 700, .first = 2, .numbered = numbered}});
    CHECK(t.source.clocks->alignment ==
          (numbered ? ClockAlignment::collectives : ClockAlignment::absolute_times));
    CHECK(first_ops(t)[1] == 40'000'000 + (numbered ? 0 : 700'000));
  }
}

TEST_CASE("collectives that cannot be the same ones align nothing", "[trace]") {
  CHECK(merged({.rank = 0, .steps = false},
               {.rank = 1, .clock_us = 5e6, .collectives = 3, .steps = false})
            .source.clocks->alignment == ClockAlignment::none);
  // As many, but of another program: they end milliseconds apart.
  Rank other{.rank = 1, .clock_us = 5e6, .steps = false};
  trace::Trace t = other.read();
  std::int64_t more = 0;
  for (trace::GpuOp& op : t.ops) {
    if (op.correlation % 10 != 3) continue;
    op.start_ns += more;
    op.end_ns += more += 5'000'000;
  }
  std::vector<trace::Trace> traces;
  traces.push_back(Rank{.rank = 0, .steps = false}.read());
  traces.push_back(std::move(t));
  CHECK(trace::merge_traces(std::move(traces)).source.clocks->alignment == ClockAlignment::none);
}

TEST_CASE("without collectives common steps align the clocks of several hosts", "[trace]") {
  const trace::Trace t =
      merged({.rank = 0, .collectives = 0}, {.rank = 1, .clock_us = 5'000'000, .collectives = 0});
  REQUIRE(t.source.clocks->alignment == ClockAlignment::steps);
  CHECK(t.source.clocks->spread_ns == 0);
  const trace::Summary s = trace::summarize(t);
  CHECK(s.gpu->span_ns == 3'740'000);
  CHECK(s.gpu->busy_ns == 2 * 4 * 350'000);  // both work at the same time
}

TEST_CASE("times of clocks that nothing aligns are never mixed", "[trace]") {
  const std::string base = R"("baseTimeNanoseconds": 1790000000000000000, )";
  for (const bool absolute : {false, true}) {
    CAPTURE(absolute);
    const Rank a{.rank = 0, .keys = absolute ? base : "", .collectives = 0, .steps = false};
    Rank b = a;
    b.rank = 1;
    b.clock_us = 77;
    const trace::Trace t = merged(a, b);
    CHECK(t.source.clocks->alignment ==
          (absolute ? ClockAlignment::absolute_times : ClockAlignment::none));
    const trace::Summary s = trace::summarize(t);
    CHECK_FALSE(s.gpu);
    REQUIRE(s.sums);
    CHECK(s.sums->kernels == 16);
    CHECK(s.sums->op_sum_ns == 16 / 2 * 350'000);
    CHECK(s.launch_to_start_ns->max == 10'000);  // of one process each
    REQUIRE(s.devices.size() == 2);
    CHECK(s.devices[0].gpu.busy_ns == 4 * 350'000);
    const Json document = trace::to_document(s);
    CHECK_NOTHROW(validate_json(document, "trace_summary", "test"));
    for (const char* key :
         {"span_ns", "busy_ns", "idle_ns", "idle_by_class_ns", "exposed_comm_ns"}) {
      CAPTURE(key);
      CHECK(document[key].is_null());
      CHECK(document["null_reasons"][key].get<std::string>().find("clocks of their own") !=
            std::string::npos);
    }
    CHECK(document["kernel_sum_ns"] == 16 / 2 * 350'000);
  }
}

TEST_CASE("recordings of one host share its clock, as long as it was not started anew", "[trace]") {
  const auto alignment = [](trace::Trace a, trace::Trace b) {
    std::vector<trace::Trace> traces;
    traces.push_back(std::move(a));
    traces.push_back(std::move(b));
    return trace::merge_traces(std::move(traces));
  };
  const trace::Trace same = alignment(spool(0, "a", 1000, 1000), spool(1, "a", 1500, 1700));
  CHECK(same.source.clocks->alignment == ClockAlignment::one_clock);
  CHECK(same.ops.at(1).start_ns == 1800);
  // An hour of uptime here, none there: the same moment of the world.
  const trace::Trace anew =
      alignment(spool(0, "a", 3'600'000'000'000, 3'600'000'001'000), spool(1, "a", 0, 1700));
  CHECK(anew.source.clocks->alignment == ClockAlignment::one_clock);
  CHECK(anew.ops.at(1).start_ns == 3'600'000'001'800);
  const trace::Trace others = alignment(spool(0, "a", 1000, 1000), spool(1, "b", 1500, 1700));
  CHECK(others.source.clocks->alignment == ClockAlignment::absolute_times);
  CHECK(others.source.clocks->assumption.find("a and b") != std::string::npos);
  const std::string keys = R"("host_name": "n1", "baseTimeNanoseconds": 1790000000000000000, )";
  const trace::Trace kineto =
      merged({.rank = 0, .keys = keys}, {.rank = 1, .clock_us = 50, .keys = keys});
  CHECK(kineto.source.clocks->alignment == ClockAlignment::one_clock);
  CHECK(trace::summarize(kineto).host == "n1");
}

TEST_CASE("a merged trace says after its conversion what it said before", "[trace]") {
  const Folder folder;
  const Rank apart{.rank = 1, .clock_us = 77, .collectives = 0, .steps = false};
  for (const Rank& other : {Rank{.rank = 1, .clock_us = 5e6, .late_us = 100}, apart}) {
    const trace::Trace t =
        merged({.rank = 0, .collectives = other.collectives, .steps = other.steps}, other);
    trace::write_chrome_trace(t, folder.file("m.json.gz"));
    const auto figures = [](const trace::Trace& of) {
      Json document = trace::to_document(trace::summarize(of));
      for (const char* key : {"path", "format", "events"}) document.erase(key);
      return document;
    };
    CHECK(figures(trace::read_trace(folder.file("m.json.gz"))) == figures(t));
  }
}

TEST_CASE("trace summary of several files and folders: each rank, and all of them", "[trace]") {
  const Folder folder;
  std::filesystem::create_directory(folder.file("out"));
  folder.write("out/rank1.json", Rank{.rank = 1, .clock_us = 5e6, .late_us = 100}.text());
  folder.write("out/rank0.json.gz", gzipped(Rank{.rank = 0}.text()));
  folder.write("out/notes.txt", "no trace");
  REQUIRE(nsatune(folder, "trace convert out out/merged.json.gz").exit_code == 0);
  folder.write("out/a.nsaspool", "left over");
  const Json document = json_of(nsatune(folder, "trace summary out --json"), "trace_summary");
  CHECK(document["kernels"] == 24);  // the merged view does not count again
  CHECK(document["clocks"]["alignment"] == "collectives");
  REQUIRE(document["ranks"].size() == 2);
  CHECK(document["ranks"][0]["rank"] == 0);
  CHECK(document["ranks"][1]["exposed_comm_ns"] == 4 * 180'000 + 6'000);
  CHECK(document["ranks"][1]["devices"][0]["part"] == 0);
  const Json view =
      json_of(nsatune(folder, "trace summary out/merged.json.gz --json"), "trace_summary");
  CHECK(view["busy_ns"] == document["busy_ns"]);
  CHECK_FALSE(view.contains("ranks"));

  const Result text = nsatune(folder, "trace summary out/rank1.json out/rank0.json.gz");
  CHECK(text.exit_code == 0);
  for (const char* part : {"Ranks", "out/rank1.json", "on one time line", "n-th collective",
                           "rank 1, GPU 0", "Overview"}) {
    CAPTURE(part);
    CHECK(text.out.find(part) != std::string::npos);
  }
  // One way to name a rank, in all tables; in JSON a number beside each part.
  CHECK(text.out.find("\n  rank 0 ") != std::string::npos);
  CHECK(text.out.find("trace 0") == std::string::npos);
  CHECK(text.out.find("process 0") == std::string::npos);
  CHECK(text.out.find("rank 0: ProfilerStep#") != std::string::npos);
  for (const auto& rows : {document["devices"], document["queue"], document["gaps"]["longest"]})
    for (const Json& row : rows) CHECK(row["rank"] == row["part"]);
  CHECK(document["ranks"][1]["devices"][0]["rank"] == 1);
  std::filesystem::create_directory(folder.file("empty"));
  for (const char* files : {"out/rank1.json out/../out/rank1.json", "out out/rank1.json", "empty",
                            "out/rank1.json out/merged.json.gz", "out/rank1.json out/notes.txt"}) {
    CAPTURE(files);
    const Result r = nsatune(folder, std::string("trace summary ") + files);
    CHECK(r.exit_code == 2);
    CHECK(r.out.empty());
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  }
}

TEST_CASE("doctor does not judge what is not on one time line", "[trace]") {
  const Folder folder;
  const std::string base = R"("baseTimeNanoseconds": 1790000000000000000, )";
  for (const int rank : {0, 1})
    folder.write("rank" + std::to_string(rank) + ".json",
                 Rank{.rank = rank, .keys = base, .collectives = 0, .steps = false}.text());
  REQUIRE(nsatune(folder, "trace convert rank0.json rank1.json m.json").exit_code == 0);
  const Result r = nsatune(folder, "doctor m.json");
  CHECK(r.exit_code == 3);
  CHECK(r.out.find("not judged: m.json: ") != std::string::npos);
  CHECK(r.out.find("clocks of their own") != std::string::npos);
}

TEST_CASE("a trace that says nothing but that its job has no rank is refused", "[trace]") {
  trace::JobMember member;
  member.path = "r.json";
  member.world_size = 0;
  CHECK_THROWS_WITH(trace::expect_one_job(std::vector{member}),
                    "r.json: says that it is rank 0 of 0");
}

}  // namespace nsa::test
