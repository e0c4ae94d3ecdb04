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
