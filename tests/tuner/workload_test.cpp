// Which first lines of a workload file are headers.
#include "nsa/tuner/workload.hpp"

#include "catch.hpp"
#include "nsa/schemas/error.hpp"
#include "text.hpp"

using namespace nsa;
using namespace nsa::tuner;
using nsa::test::contains;

namespace {

std::vector<std::int64_t> lengths(const std::string& text) {
  std::vector<std::int64_t> result;
  for (const UseOfLength& use : parse_workload(text, "w.csv")) result.push_back(use.tokens);
  return result;
}

}  // namespace

TEST_CASE("a byte order mark hides no line of a workload", "[workload]") {
  CHECK(lengths("\xef\xbb\xbf"
                "2048,310\n16384,1\n") == std::vector<std::int64_t>{2048, 16384});
  CHECK(lengths("\xef\xbb\xbftokens,weight\n16384,1\n") == std::vector<std::int64_t>{16384});
}

TEST_CASE("lengths of a workload are understood as people write them", "[workload]") {
  CHECK(lengths("8k,310\n1e3,1\n") == std::vector<std::int64_t>{8192, 1000});
  CHECK_THROWS_AS(lengths("8q,310\n"), InputError);
  CHECK_THROWS_AS(lengths("0k,310\n"), InputError);
}

TEST_CASE("weights whose sum is beyond all numbers are refused", "[workload]") {
  CHECK(lengths("2048,1e15\n") == std::vector<std::int64_t>{2048});
  for (const char* weight : {"1e308", "1e16", "inf", "nan", "-1"})
    CHECK_THROWS_AS(lengths("2048," + std::string(weight) + "\n"), InputError);
}

TEST_CASE("a first line with a digit in its first cell is no header", "[workload]") {
  CHECK(lengths("tokens,weight 2\n16384,1\n") == std::vector<std::int64_t>{16384});
  for (const std::string line : {"-2048,310", "+2048,310", "x2048,310", "\"2048\",310"}) {
    CAPTURE(line);
    try {
      lengths(line + "\n16384,1\n");
      FAIL("the line was passed over");
    } catch (const InputError& error) {
      CHECK(contains(error.what(), "w.csv:1: "));
    }
  }
}

TEST_CASE("a workload is read from the telemetry of a run and from heartbeats", "[workload]") {
  const std::string lengths = R"([{"phase": "prefill", "tokens": 2048, "calls": 24},
                                  {"phase": "decode", "tokens": 0, "calls": 12}])";
  for (const std::string& text : {R"({"run_id": "x", "telemetry": {"lengths": )" + lengths + "}}",
                                  R"({"lengths": )" + lengths + "}"}) {
    const std::vector<UseOfLength> uses = parse_workload(text, "run.json");
    REQUIRE(uses.size() == 2);
    CHECK((uses[0].tokens == 2048 && uses[0].weight == 24 && uses[0].phase == Phase::prefill));
    CHECK((uses[1].tokens == 1 && uses[1].weight == 12 && uses[1].phase == Phase::decode));
  }
  const std::string beat =
      R"({"step": 1, "lengths": [{"phase": "prefill", "tokens": 512, "calls": 1}]})";
  const std::string later =
      R"({"step": 2, "lengths": [{"phase": "prefill", "tokens": 640, "calls": 2}]})";
  const std::vector<UseOfLength> uses = parse_workload(beat + "\n" + later + "\n", "beats.jsonl");
  REQUIRE(uses.size() == 1);
  CHECK((uses[0].tokens == 640 && uses[0].weight == 2));
  for (const std::string bad :
       {R"({"telemetry": {}})", R"({"lengths": []})", R"({"lengths": [7]})",
        R"({"lengths": [{"phase": "x", "tokens": 1, "calls": 1}]})",
        R"({"lengths": [{"phase": "decode", "tokens": 1, "calls": 0}]})", "{"})
    CHECK_THROWS_AS(parse_workload(bad, "bad.json"), InputError);
}
