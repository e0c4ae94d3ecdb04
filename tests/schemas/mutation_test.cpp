// 10,000 damaged documents of each kind: every one is a document again, or one InputError.
#include <random>

#include "catch.hpp"
#include "filled.hpp"

namespace nsa {
namespace {

using Random = std::mt19937_64;  // its sequence is fixed by the standard

std::size_t below(Random& random, std::size_t n) { return n == 0 ? 0 : random() % n; }

std::string mutate(std::string text, Random& random) {
  static const std::vector<std::string> kPieces{"{",
                                                "}",
                                                "[",
                                                "]",
                                                ",",
                                                ":",
                                                "\"",
                                                "null",
                                                "true",
                                                "-1",
                                                "0",
                                                "1e999",
                                                "1e308",
                                                "\\",
                                                "\xff",
                                                "99999999999999999999",
                                                "-9223372036854775808",
                                                "18446744073709551615",
                                                "0.5",
                                                "\\u0000",
                                                "\"from\"",
                                                "\"to\"",
                                                "NaN",
                                                std::string("\0", 1),
                                                "[[[[[[[[",
                                                "\n"};
  const std::size_t changes = 1 + below(random, 4);
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t at = below(random, text.size());
    const std::string& piece = kPieces[below(random, kPieces.size())];
    switch (random() % 6) {
      case 0:
        text.insert(at, piece);
        break;
      case 1:
        text.erase(at, below(random, 40));
        break;
      case 2:
        text[at] = static_cast<char>(random());
        break;
      case 3:
        text.replace(at, below(random, 6), piece);
        break;
      case 4:
        text.insert(at, text.substr(below(random, text.size()), below(random, 60)));
        break;
      default:
        text[at] = static_cast<char>('0' + random() % 10);
        break;
    }
    if (text.empty()) break;
  }
  return text;
}

/// Decodes 10,000 mutations; counts those that are valid. Any other exception ends the test.
template <class Decode>
int survivors(const std::string& text, std::uint64_t seed, Decode decode) {
  Random random(seed);
  int valid = 0;
  for (int i = 0; i < 10000; ++i) {
    const std::string mutant = mutate(text, random);
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
