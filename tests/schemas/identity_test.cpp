// hash_hex, make_uuid and now_iso8601.
#include <set>

#include "catch.hpp"
#include "filled.hpp"

namespace nsa {
namespace {

TEST_CASE("the hash is 64-bit FNV-1a in sixteen digits", "[schemas]") {
  CHECK(hash_hex("") == "cbf29ce484222325");  // published vectors of FNV-1a
  CHECK(hash_hex("a") == "af63dc4c8601ec8c");
  CHECK(hash_hex("foobar") == "85944171f73967e8");
  CHECK(hash_hex(std::string_view("\0", 1)) != hash_hex(""));
}

TEST_CASE("UUIDs are of version 4 and never repeat", "[schemas]") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = make_uuid();
    REQUIRE(id.size() == 36);
    CHECK(id[8] == '-');
    CHECK(id[13] == '-');
    CHECK(id[14] == '4');
    CHECK(id[18] == '-');
    CHECK(std::string("89ab").find(id[19]) != std::string::npos);
    CHECK(id[23] == '-');
    CHECK(seen.insert(id).second);
  }
}

TEST_CASE("the time is ISO 8601 in UTC with milliseconds and sorts as text", "[schemas]") {
  const std::string now = now_iso8601();
  REQUIRE(now.size() == 24);
  CHECK(now[10] == 'T');
  CHECK(now[19] == '.');
  CHECK(now.back() == 'Z');
  CHECK(now > "2026-01-01");
  CHECK(now <= now_iso8601());
}

}  // namespace
}  // namespace nsa
