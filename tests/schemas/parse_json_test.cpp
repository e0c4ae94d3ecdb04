// Hostile text: one line that names place and reason, and nothing else happens.
#include <algorithm>
#include <ctime>

#include "catch.hpp"
#include "filled.hpp"

namespace nsa {
namespace {

std::string refusal(const std::string& text) {
  const std::string message = test::message_of([&] { (void)parse_json(text, "f.json"); });
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.size() < 500);
  return message;
}

TEST_CASE("syntax errors are named with line and column", "[schemas]") {
  CHECK(refusal("{\n  \"a\": 1,\n  b\n}").starts_with("f.json:3:3: "));
  CHECK(refusal("{\"a\": 1").starts_with("f.json:1:7: "));
  CHECK(refusal("") == "f.json: is empty; a JSON document is expected");
  CHECK(refusal(" \n") == refusal(""));
  CHECK(refusal("[1] x").starts_with("f.json:1:5: "));
  CHECK(refusal("{\"a\": tru}").starts_with("f.json:1:10: "));
}

TEST_CASE("what is no JSON is refused", "[schemas]") {
  for (const char* text : {"NaN", "[Infinity]", "[-Infinity]", "{'a': 1}", "[1,]", "01", "+1",
                           "\"\\x\"", "// c\n1", "\"\\ud800\"", "{\"a\" 1}", "nul"}) {
    INFO(text);
    CHECK(refusal(text).starts_with("f.json:"));
  }
  CHECK(refusal(std::string("[1]\0", 4)).starts_with("f.json:1:4: "));
}

TEST_CASE("numbers that no double holds are refused", "[schemas]") {
  CHECK(refusal("{\"a\": 1e999}").starts_with("f.json:1:"));
  CHECK(refusal("[-1e999]").find("1e999") != std::string::npos);
  CHECK(parse_json("1e-999", "f") == 0);
  CHECK(parse_json("18446744073709551615", "f") == 18446744073709551615u);
}

TEST_CASE("invalid UTF-8 is refused", "[schemas]") {
  for (const char* text : {"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\"\xc0\xaf\"", "\xfe"})
    CHECK(refusal(text).starts_with("f.json:1:"));
  CHECK(parse_json("\"\xc3\xa9\"", "f") == "\xc3\xa9");
}

TEST_CASE("a key that is there twice in one object is refused", "[schemas]") {
  CHECK(refusal("{\"a\": {\"b\": 1,\n\"b\": 2}}") == "f.json:2:3: has the key \"b\" twice");
  CHECK(refusal("{\"\\n\": 1, \"\\n\": 2}").find("\"\\n\" twice") != std::string::npos);
  CHECK(refusal("{\"a\": {\"b\": 1}, \"c\": [{\"b\": 1}, {\"b\": 2}]}").empty());
}

TEST_CASE("nesting is refused beyond 64 levels, however deep it goes", "[schemas]") {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  CHECK(refusal(nested(64)).empty());
  CHECK(refusal(nested(65)) == "f.json:1:65: is nested deeper than 64 levels");
  CHECK(refusal(std::string(1 << 20, '[')).find("64 levels") != std::string::npos);
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  CHECK(refusal(objects).find("64 levels") != std::string::npos);
}

TEST_CASE("texts, keys and objects have a largest size", "[schemas]") {
  CHECK(refusal(std::string((64u << 20) + 1, ' ')) == "f.json: is larger than 64 MiB");
  CHECK(refusal("{\"" + std::string(257, 'k') + "\": 1}").find("256 bytes") != std::string::npos);
  std::string many = "{";
  for (int i = 0; i < 1025; ++i) many += "\"k" + std::to_string(i) + "\":1,";
  CHECK(refusal(many).find("more than 1024 keys") != std::string::npos);
  const std::string megabyte(1 << 20, 'x');
  CHECK(parse_json("\"" + megabyte + "\"", "f") == megabyte);
  CHECK(refusal("\"" + megabyte).starts_with("f.json:1:10485"));
}

TEST_CASE("many objects take time in proportion to their number", "[schemas]") {
  // CPU time, which the load of the machine does not change; reading them in quadratic time took
  // sixteen times as long for four times as many.
  const auto cpu_s = [](std::size_t objects) {
    std::string text = "[{}";
    for (std::size_t i = 1; i < objects; ++i) text += ",{}";
    text += "]";
    const std::clock_t start = std::clock();
    CHECK(parse_json(text, "f").size() == objects);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  const double few = std::max(cpu_s(30'000), 0.005);
  CHECK(cpu_s(120'000) < 10 * few);
}

TEST_CASE("a document has a largest number of values, so that little text is little memory",
          "[schemas]") {
  std::string numbers = "[1";
  for (int i = 1; i < 6'000'000; ++i) numbers += ",1";
  CHECK(refusal(numbers + "]").find("more than 6 million values") != std::string::npos);
  numbers.resize(numbers.size() - 2);
  CHECK(parse_json(numbers + "]", "f").size() == 5'999'999);
}

TEST_CASE("order of keys is kept", "[schemas]") {
  CHECK(parse_json("{\"b\": 1, \"a\": 2}", "f").dump() == "{\"b\":1,\"a\":2}");
}

}  // namespace
}  // namespace nsa
