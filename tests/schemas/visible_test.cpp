#include "nsa/schemas/text.hpp"

#include "catch.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa {
namespace {

/// Every code point as UTF-8, surrogates left out.
std::string utf8(std::uint32_t c) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xc0 | c >> 6), byte(0x80 | (c & 0x3f))};
  const std::string tail{byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
  if (c < 0x10000) return byte(0xe0 | c >> 12) + tail;
  return std::string{byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 0x3f))} + tail;
}

TEST_CASE("UTF-8 is told from other bytes", "[schemas]") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("a\n\x07\u00e9" + utf8(0x10ffff)));
  for (const char* other : {"b\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80 a"})
    CHECK_FALSE(is_utf8(other));
}

TEST_CASE("what a terminal acts upon is spelled out", "[schemas]") {
  CHECK(visible("\x1b[31mred\x1b]0;title\x07") == "\\x1b[31mred\\x1b]0;title\\x07");
  CHECK(visible("a\nb\tc\rd\x7f") == "a\\nb\\tc\\rd\\x7f");
  CHECK(visible(std::string_view("\0", 1)) == "\\x00");
  CHECK(visible("\xc2\x9b"
                "31m") == "\\u009b31m");  // CSI as one C1 control
  CHECK(visible("\x9b"
                "31m") == "\\x9b31m");  // the same as one byte: no UTF-8
  CHECK(visible("\u202egpj.exe") == "\\u202egpj.exe");
  CHECK(visible("a\u200bb\u2066c\ufeff") == "a\\u200bb\\u2066c\\ufeff");
  CHECK(visible(utf8(0xfffe) + utf8(0xffff)) == "\\ufffe\\uffff");  // no XML may hold them
}

TEST_CASE("what can be seen stays as it is", "[schemas]") {
  for (const char* text : {"", "attend_selected/x.bq=64", "Größe 3 µs", "日本語", "🚀", "\\x1b"})
    CHECK(visible(text) == text);
}

TEST_CASE("bytes that are no UTF-8 are spelled one by one", "[schemas]") {
  CHECK(visible("\xff") == "\\xff");
  CHECK(visible("\xc0\xaf") == "\\xc0\\xaf");           // a longer form of '/'
  CHECK(visible("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  CHECK(visible("a\xe2\x82") == "a\\xe2\\x82");         // cut
  CHECK(visible("\xf5\x80\x80\x80") == "\\xf5\\x80\\x80\\x80");
}

TEST_CASE("every code point comes out visible, as valid UTF-8, and stays so", "[schemas]") {
  for (std::uint32_t c = 0; c <= 0x10ffff; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    const std::string once = visible(utf8(c));
    const CodePoint first = next_code_point(once);
    const bool good =
        first.valid && first.value >= 0x20 && (first.value < 0x7f || first.value > 0x9f);
    if (!good || visible(once) != once) FAIL("code point " << c << " became " << once);
  }
}

TEST_CASE("a swap of neighbours is one slip, as a letter too many is", "[schemas]") {
  CHECK(edit_distance("modle", "model") == 1);
  CHECK(edit_distance("quik", "quick") == 1);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(edit_distance("ca", "abc") == 3);  // no byte is touched twice
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the name that was meant is near, or goes on from where the word ends", "[schemas]") {
  const std::vector<std::string_view> flags{"db", "quiet", "preset", "dry-run", "device", "output"};
  CHECK(nearest_name("prset", flags) == "preset");
  CHECK(nearest_name("dry", flags) == "dry-run");
  CHECK(nearest_name("ouput", flags) == "output");
  CHECK(nearest_name("devise", flags) == "device");
  CHECK(nearest_name("colour", flags).empty());
  CHECK(nearest_name("", flags).empty());
  CHECK(did_you_mean("bd", flags) == "; did you mean db?");
  const std::vector<std::string_view> without{"db", "quiet"};
  CHECK(nearest_name("prset", without).empty());
  CHECK(nearest_name("dry", without).empty());
  const std::vector<std::string_view> as_near{"bark", "care"};
  CHECK(nearest_name("cark", as_near) == "care");
}

}  // namespace
}  // namespace nsa
