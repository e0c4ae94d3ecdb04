// A part of a trace, a table of it, and how wide it is shown.
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "../cli/program.hpp"
#include "catch.hpp"
#include "nsa/schemas/json.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

/// Four steps of 100 us, each with two kernels: 10 us on stream 7, 20 us on stream 8.
std::string four_steps() {
  JsonTrace trace;
  for (int i = 0; i < 4; ++i) {
    const double at = 100.0 * i;
    trace.range("ProfilerStep#" + std::to_string(i + 2), at, 90);
    trace.launched("first_kernel", 2 * i + 1, at + 10, at + 20, 10, 7);
    trace.launched("second_kernel", 2 * i + 2, at + 30, at + 50, 20, 8);
  }
  return trace.text();
}

Json summary(const Folder& folder, const std::string& options) {
  return json_of(nsatune(folder, "trace summary t.json --json " + options), "trace_summary");
}

}  // namespace

TEST_CASE("a summary can be of some steps, a time, a stream or a name", "[trace]") {
  const Folder folder;
  folder.write("t.json", four_steps());
  CHECK(summary(folder, "")["busy_ns"] == 120'000);
  const Json steps = summary(folder, "--step 3-4");
  CHECK(steps["busy_ns"] == 60'000);
  CHECK(steps["steps"].size() == 2);
  CHECK(steps["steps"][0]["name"] == "ProfilerStep#3");
  CHECK(steps["api_calls"] == 4);
  CHECK(summary(folder, "--step 5")["busy_ns"] == 30'000);
  CHECK(summary(folder, "--stream 8")["busy_ns"] == 80'000);
  CHECK(summary(folder, "--name first_")["busy_ns"] == 40'000);
  CHECK(summary(folder, "--name first_")["api_calls"] == 4);
  CHECK(summary(folder, "--time 100us-.2ms")["busy_ns"] == 30'000);
  CHECK(summary(folder, "--step 3 --stream 7")["busy_ns"] == 10'000);
}

TEST_CASE("a part is told as it was asked for, and half a range is refused", "[trace]") {
  const Folder folder;
  folder.write("t.json", four_steps());
  CHECK(summary(folder, "--step 3")["part"] == "--step 3");
  CHECK(summary(folder, "--step 3-4")["part"] == "--step 3-4");
  const auto refused = [&](const std::string& flag) {
    const Result r = nsatune(folder, "trace summary t.json " + flag);
    CHECK(r.exit_code == 2);
    return r.err;
  };
  CHECK(refused("--step 3-") == "nsatune: --step: \"3-\" has no end; give both, as in 3-7\n");
  CHECK(refused("--step=-4") == "nsatune: --step: \"-4\" has no beginning; give both, as in 3-7\n");
  CHECK(refused("--time 10ms-").find("has no end; give both, as in 10ms-1.5s") !=
        std::string::npos);
  CHECK(refused("--step x").find("\"x\" is not a whole number") != std::string::npos);
}

TEST_CASE("a step takes as long alone as among the others", "[trace]") {
  const Folder folder;
  folder.write("t.json", four_steps());
  for (const char* part : {"--step 3", "--step 3-4", "--step 2-3"}) {
    INFO(part);
    for (const Json& step : Json(summary(folder, part)["steps"]))
      CHECK(step["device_ns"] == 100'000);  // to the first kernel of the next step
  }
  CHECK(summary(folder, "--step 5")["steps"][0]["device_ns"] == 50'000);  // nothing comes after it
}

TEST_CASE("ranks are cut at one time, and those with nothing there are left out", "[trace]") {
  const Folder folder;
  std::string first = four_steps(), second;
  JsonTrace later;  // two steps of the other rank, from 200 us of the first one's clock on
  for (int i = 0; i < 2; ++i) {
    const double at = 200 + 100.0 * i;
    later.range("ProfilerStep#" + std::to_string(i + 4), at, 90);
    later.launched("first_kernel", i + 1, at + 10, at + 20, 10, 7);
  }
  second = later.text();
  for (auto* text : {&first, &second})
    *text = R"({"host_name": "n1", "baseTimeNanoseconds": 1790000000000000000,
      "distributedInfo": {"rank": )" +
            std::string(text == &first ? "0" : "1") + R"(, "world_size": 2}, )" + text->substr(1);
  folder.write("r0.json", first);
  folder.write("r1.json", second);
  const auto of_both = [&](const std::string& options) {
    return nsatune(folder, "trace summary r0.json r1.json --json " + options);
  };
  const Json both = json_of(of_both("--time 200us-300us"), "trace_summary");
  REQUIRE(both["ranks"].size() == 2);
  CHECK(both["ranks"][0]["steps"][0]["name"] == "ProfilerStep#4");
  CHECK(both["ranks"][1]["steps"][0]["name"] == "ProfilerStep#4");
  CHECK(both["null_reasons"]["rank"] == "it is not one rank");
  const Result one = of_both("--time 0us-100us");
  CHECK(one.exit_code == 0);
  CHECK(one.err.find("r1.json: nothing is left") != std::string::npos);
}

TEST_CASE("a summary of a part says so, and its times are those of the whole", "[trace]") {
  const Folder folder;
  folder.write("t.json", four_steps());
  CHECK_FALSE(summary(folder, "").contains("part"));
  CHECK(summary(folder, "--step 3 --stream 7")["part"] == "--step 3 --stream 7");
  CHECK(summary(folder, "--time 100us-.2ms --name first")["part"] ==
        "--time 0.1ms-0.2ms --name first");
  const std::string text = nsatune(folder, "trace summary t.json --time 100us-400us").out;
  CHECK(text.find("\nonly --time 0.1ms-0.4ms: every figure is of that part\n") != text.npos);
  // The gap between the steps, from 170 us of the whole trace on.
  CHECK(text.find("50.0 us  170 us") != text.npos);
}

TEST_CASE("a name keeps the calls of its kernels: what launched them and what waits for them",
          "[trace]") {
  const Folder folder;
  folder.write("t.json", JsonTrace()
                             .call("cudaDeviceSynchronize", 90, 0, 1)  // before all
                             .launched("other", 1, 5, 6, 30)
                             .call("cudaStreamSynchronize", 91, 10, 26)  // for the other
                             .call("cudaMalloc", 92, 38, 2)
                             .launched("flash_fwd", 2, 40, 45, 20)
                             .event("overhead", "Lazy Function Loading", "40.02", "0.05")
                             .event("overhead", "Lazy Function Loading", "20", "5")
                             .call("cudaDeviceSynchronize", 93, 50, 16)  // until flash_fwd ends
                             .call("cudaDeviceSynchronize", 94, 70, 1)   // after it
                             .call("cudaGetDevice", 95, 72, 1)
                             .text());
  const Json s = summary(folder, "--name flash");
  CHECK(s["api_calls"] == 2);
  REQUIRE(s["host_syncs"].size() == 2);
  CHECK(s["host_syncs"][0]["api"] == "cudaDeviceSynchronize");
  CHECK(s["host_syncs"][0]["count"] == 1);
  CHECK(s["host_syncs"][0]["total_ns"] == 16'000);
  CHECK(s["host_syncs"][1]["total_ns"] == 50);
  CHECK(s["kept"] ==
        Json{{"gpu_ops", 1}, {"of_gpu_ops", 2}, {"api_calls", 2}, {"of_api_calls", 8}});
  const std::string text = nsatune(folder, "trace summary t.json --name flash").out;
  CHECK(
      text.find("\nkept: 1 of 2 GPU operations, 2 of 8 calls of CUDA, which launched these or wait "
                "for them\n") != text.npos);
  CHECK_FALSE(summary(folder, "").contains("kept"));
}

TEST_CASE("a wait for a stream is of its operations alone", "[trace]") {
  const auto sync = [](JsonTrace& t, int correlation, int stream) {
    t.event("cuda_sync", "Stream Synchronize", "20", "5",
            R"(, "args": {"stream": )" + std::to_string(stream) + R"(, "correlation": )" +
                std::to_string(correlation) + "}");
  };
  JsonTrace t;
  t.launched("wanted", 1, 0, 5, 50, 7).launched("other", 2, 1, 5, 60, 8);
  t.call("cudaStreamSynchronize", 11, 20, 5).call("cudaStreamSynchronize", 12, 30, 5);
  sync(t, 11, 8);
  sync(t, 12, 7);
  const Folder folder;
  folder.write("t.json", t.text());
  const Json s = summary(folder, "--name wanted");
  CHECK(s["api_calls"] == 2);
  REQUIRE(s["host_syncs"].size() == 1);
  CHECK(s["host_syncs"][0]["count"] == 1);
  CHECK(summary(folder, "--stream 8")["api_calls"] == 2);
}

TEST_CASE("a part of a trace has the steps of the whole, with their numbers", "[trace]") {
  const Folder folder;
  folder.write("t.json", four_steps());
  const Json inside = summary(folder, "--time 110us-160us");  // within the second step
  REQUIRE(inside["steps"].size() == 1);
  CHECK(inside["steps"][0]["name"] == "ProfilerStep#3");
  CHECK(inside["steps"][0]["source"] == "annotation");
  CHECK(inside["steps"][0]["duration_ns"] == 50'000);
  CHECK(summary(folder, "--time 150us-250us")["steps"].size() == 2);
  JsonTrace found;  // steps that nobody marked: the same eight kernels, then a pause
  for (int i = 0; i < 64; ++i) {
    const double at = 1000.0 * (i / 8) + 10 * (i % 8);
    found.launched("k" + std::to_string(i % 8), i + 1, at, at + 2, 3);
  }
  folder.write("t.json", found.text());
  const Json whole = summary(folder, "");
  REQUIRE(whole["steps"].size() >= 6);
  CHECK(whole["steps"][0]["source"] == "repeating_kernels");
  const Json steps = summary(folder, "--step 3-5");
  REQUIRE(steps["steps"].size() == 3);
  CHECK(steps["steps"][0]["name"] == whole["steps"][2]["name"]);
  CHECK(steps["steps"][2]["name"] == whole["steps"][4]["name"]);
  CHECK(steps["kernels"] == 24);
}

TEST_CASE("a part that is not there is one line", "[trace]") {
  const Folder folder;
  folder.write("t.json", four_steps());
  for (const char* options : {"--step 9", "--step x", "--step 4-3", "--step 3-", "--time 5",
                              "--time 2s-1s", "--time 1s-2s", "--stream 99", "--stream x",
                              "--name absent", "--csv absent", "--csv steps --json"}) {
    CAPTURE(options);
    const Result r = nsatune(folder, std::string("trace summary t.json ") + options);
    CHECK(r.exit_code == 2);
    CHECK(r.out.empty());
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  }
}

TEST_CASE("a table as CSV has a column for each member", "[trace]") {
  const Folder folder;
  folder.write("t.json", JsonTrace().kernel("a<1, 2>", 1, 0, 1).kernel("b", 2, 5, 3).text());
  std::istringstream csv(nsatune(folder, "trace summary t.json --csv kernels_by_name").out);
  std::string line;
  std::getline(csv, line);
  CHECK(line.find("name") != std::string::npos);
  CHECK(line.find("total_ns") != std::string::npos);
  std::getline(csv, line);
  CHECK(line.find("3000") != std::string::npos);
  std::getline(csv, line);
  CHECK(line.find("\"a<1, 2>\"") != std::string::npos);
  CHECK_FALSE(std::getline(csv, line));
}

TEST_CASE("names are as wide as the terminal, and differ where they differ", "[trace]") {
  const Folder folder;
  const std::string long_name = "kernel<" + std::string(150, 'x');
  const std::string rest = std::string(150, 'y') + ">";
  folder.write("t.json", JsonTrace()
                             .kernel(long_name + "Add" + rest, 1, 0, 1)
                             .kernel(long_name + "Mul" + rest, 2, 5, 3)
                             .text());
  for (const std::size_t columns : {80, 120, 200}) {
    const Result r = nsatune(folder, "trace summary t.json", "COLUMNS=" + std::to_string(columns));
    CAPTURE(columns, r.out);
    CHECK(r.out.find("Add") != std::string::npos);
    CHECK(r.out.find("Mul") != std::string::npos);
    std::istringstream lines(r.out.substr(r.out.find("Kernels by total time")));
    std::size_t widest = 0;
    for (std::string line; std::getline(lines, line) && !line.empty();)
      widest = std::max(widest, line.size());
    CHECK(widest == columns);
  }
}

TEST_CASE("each part of a gap is shortened for itself", "[trace]") {
  const Folder folder;
  const std::string op = "aten::_an_operator_with_quite_a_long_name_indeed";
  folder.write("t.json", JsonTrace()
                             .launched("k", 1, 0, 1, 1)
                             .range(op, 102, 100, 1, "cpu_op")
                             .range("an annotation of somebody that is long as well", 202, 100)
                             .launched("k", 2, 302, 303, 1)
                             .text());
  for (const auto& [columns, parts] :
       {std::pair{"60", 1}, std::pair{"80", 1}, std::pair{"120", 2}, std::pair{"160", 3}}) {
    const Result r = nsatune(folder, "trace summary t.json", std::string("COLUMNS=") + columns);
    const std::string from = r.out.substr(r.out.find("longest gaps  "));
    const std::string table = from.substr(0, from.find("\n\n") + 1);
    CAPTURE(columns, table);
    CHECK(table.find(" us did nothin") != std::string::npos);
    CHECK(std::count(table.begin(), table.end(), ',') == parts - 1);
    for (std::size_t at = 0; (at = table.find("...", at)) != table.npos; at += 3)
      CHECK((table[at + 3] == ',' || table[at + 3] == '\n'));
  }
}

TEST_CASE("a trace may come through a pipe, a database may not", "[trace]") {
  const Folder folder;
  folder.write("t.json", four_steps());
  folder.write("t.json.gz", gzipped(four_steps()));
  folder.write("t.sqlite", "SQLite format 3" + std::string(100, '\0'));
  const auto piped = [&](const std::string& file) {
    return std::system(("cat " + folder.file(file) +
                        " | " NSATUNE_PROGRAM " trace summary /dev/stdin --json >" +
                        folder.file("out") + " 2>" + folder.file("err"))
                           .c_str());
  };
  for (const char* file : {"t.json", "t.json.gz"}) {
    CAPTURE(file);
    CHECK(piped(file) == 0);
    CHECK(parse_json(read_text_file(folder.file("out")), "stdout")["busy_ns"] == 120'000);
  }
  CHECK(WEXITSTATUS(piped("t.sqlite")) == 2);
  CHECK(read_text_file(folder.file("err")).find("cannot be read from a pipe") != std::string::npos);
}

}  // namespace nsa::test
