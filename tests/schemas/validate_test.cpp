#include <set>

#include "catch.hpp"
#include "filled.hpp"
#include "validate/schema_texts.hpp"

namespace nsa {
namespace {

std::string refusal(const Json& document, std::string_view schema = "thresholds") {
  const auto message = test::message_of([&] { validate_json(document, schema, "f.json"); });
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.size() < 1000);
  return message;
}

Json table() { return test::json_of(test::filled_table()); }

TEST_CASE("every schema compiles and refuses what is no object", "[schemas]") {
  CHECK(schema_texts().size() >= 20);
  for (const auto& [name, text] : schema_texts()) {
    INFO(name);
    CHECK(Json::parse(text).at("$schema") == "http://json-schema.org/draft-07/schema#");
    CHECK(schema_text(name) == text);
    CHECK(refusal(Json::array(), name).starts_with("f.json: /: an array of 0 is not valid"));
  }
  CHECK_THROWS_AS(schema_text("nothing"), ContractError);
  CHECK_THROWS_AS(validate_json(Json::object(), "nothing", "f"), ContractError);
}

TEST_CASE("a violation is named with its pointer, what is there and what is expected",
          "[schemas]") {
  Json j = table();
  j["classes"][0]["decisions"][0]["ranges"][1]["evidence"]["pairs"] = -3;
  CHECK(refusal(j) ==
        "f.json: /classes/0/decisions/0/ranges/1/evidence/pairs: -3 is not valid; expected "
        "integer, at least 0");
  j = table();
  j["classes"][0]["decisions"][0]["axis"] = "length";
  CHECK(refusal(j) ==
        "f.json: /classes/0/decisions/0/axis: \"length\" is not valid; expected seq_len, "
        "context_len, row_len or compressed_len");
  j = table();
  j["complete"] = "yes";
  CHECK(refusal(j) == "f.json: /complete: \"yes\" is not valid; expected boolean");
}

TEST_CASE("a missing and an unknown field are named", "[schemas]") {
  Json j = table();
  j["classes"][0].erase("flat");
  CHECK(refusal(j) == "f.json: /classes/0: the field \"flat\" is missing");
  j = table();
  j["classes"][0]["flat"]["fa2_min_len"] = 3;
  CHECK(refusal(j).starts_with(
      "f.json: /classes/0/flat: has the unknown field \"fa2_min_len\"; the fields are sel_ranges"));
}

TEST_CASE("wrong types, signs and sizes are refused in every kind of field", "[schemas]") {
  const auto with = [](const char* pointer, const Json& value) {
    Json j = table();
    j[Json::json_pointer(pointer)] = value;
    return refusal(j);
  };
  const std::string here = "f.json: ";
  CHECK(with("/device/memory_bytes", 1.5).starts_with(here + "/device/memory_bytes: 1.5 is"));
  CHECK(with("/device/memory_bytes", "80 GB").starts_with(here + "/device/memory_bytes: \"80"));
  CHECK(with("/device/backend", "rocm").starts_with(here + "/device/backend: \"rocm\" is"));
  CHECK(with("/device/name", nullptr).starts_with(here + "/device/name: null is"));
  CHECK(with("/run_ids", Json::object()).starts_with(here + "/run_ids: an object of 0 is"));
  CHECK(with("/executor", "").starts_with(here + "/executor: \"\" is"));
  CHECK(with("/executor", std::string(1 << 20, 'x')).starts_with(here + "/executor: \"xxx"));
  CHECK(with("/classes/0/problem_class/sel_count", 2).starts_with(here + "/classes/0/problem"));
  CHECK(with("/classes/0/problem_class/kv_heads", 0).starts_with(here + "/classes/0/problem"));
  CHECK(with("/classes/0/flat/lossy", 1).starts_with(here + "/classes/0/flat/lossy: 1 is"));
  CHECK(with("/classes/0/decisions/0/ranges", Json::array()).starts_with(here + "/classes/0/dec"));
  CHECK(with("/classes/0/decisions/0/ranges/0/from", 1e300).starts_with(here + "/classes/0/dec"));
  CHECK(with("/classes/0/flat/fa2_min_len_win", "never").empty());
}

TEST_CASE("names that users put into keys appear escaped and on one line", "[schemas]") {
  Json j = table();
  j["a/b~\n"] = 1;
  CHECK(refusal(j).find("unknown field \"a/b~\\n\"") != std::string::npos);
  Json spec = test::json_of(test::filled_spec());
  spec["families"][0]["axes"]["a/b\n"] = 3;
  CHECK(refusal(spec, "sweep").starts_with("f.json: /families/0/axes/a~1b?: 3 is not valid"));
}

TEST_CASE("the largest unsigned seed is a valid seed and -1 is not", "[schemas]") {
  Json j = test::json_of(test::filled_spec());
  CHECK(j["seed"] == 18446744073709551615u);
  CHECK(refusal(j, "sweep").empty());
  j["seed"] = -1;
  CHECK(refusal(j, "sweep") == "f.json: /seed: -1 is not valid; expected integer, at least 0");
}

}  // namespace
}  // namespace nsa
