// 10,000 damaged documents of each kind: every one is a document again, or one InputError.
#include "catch.hpp"
#include "filled.hpp"
#include "mutate.hpp"

namespace nsa {
namespace {

const std::vector<std::string> kPieces{"0.5", "\"from\"", "\"to\"", "[[[[[[[["};

/// Decodes 10,000 mutations; counts those that are valid. Any other exception ends the test.
template <class Decode>
int survivors(const std::string& text, std::uint64_t seed, Decode decode) {
  test::Random random(seed);
  int valid = 0;
  for (int i = 0; i < 10000; ++i) {
    std::string mutant = text;
    test::mutate(mutant, random, kPieces);
    try {
      decode(mutant);
      ++valid;
    } catch (const InputError& error) {
      const std::string message = error.what();
      if (message.empty() || message.size() > 1200 || message.find('\n') != std::string::npos)
        FAIL("mutant " << i << ": " << message);
    }
  }
  return valid;
}

TEST_CASE("a damaged thresholds file is a table or an InputError", "[schemas]") {
  const std::string text = read_text_file(test::golden_path("thresholds.json"));
  const int valid = survivors(text, 1, [](const std::string& mutant) {
    const ThresholdTable table = parse_thresholds(mutant, "t");
    REQUIRE(parse_thresholds(dump_thresholds(table), "t") == table);
  });
  CHECK(valid > 100);  // both ends are reached
  CHECK(valid < 9900);
}

TEST_CASE("a damaged sweep spec is a spec or an InputError", "[schemas]") {
  const std::string text = read_text_file(test::golden_path("sweep.json"));
  const int valid = survivors(text, 20, [](const std::string& mutant) {
    const SweepSpec spec = parse_sweep_spec(mutant, "s");
    REQUIRE(parse_sweep_spec(Json(spec).dump(), "s") == spec);
  });
  CHECK(valid > 100);
  CHECK(valid < 9900);
}

TEST_CASE("a damaged worker reply is a reply or an InputError", "[schemas]") {
  std::uint64_t seed = 2;
  for (const auto& reply : test::filled_replies()) {
    const int valid = survivors(worker::encode(reply), seed++, [](const std::string& mutant) {
      const worker::Reply again = worker::decode_reply(mutant);
      REQUIRE(worker::encode(worker::decode_reply(worker::encode(again))) == worker::encode(again));
    });
    CHECK(valid > 10);
    CHECK(valid < 9900);
  }
}

}  // namespace
}  // namespace nsa
