#include "nsa/schemas/sweep_spec.hpp"

#include "catch.hpp"
#include "filled.hpp"

namespace nsa {
namespace {

std::string refusal(const std::string& text) {
  const auto message = test::message_of([&] { (void)parse_sweep_spec(text, "s.json"); });
  CHECK(message.find('\n') == std::string::npos);
  return message;
}

/// A spec with one family of that text after its name.
std::string spec_with(const std::string& family, const std::string& more = "") {
  return R"({"schema_version": 1, )" + more + R"("families": [{"name": "f")" + family + "}]}";
}

TEST_CASE("a spec says what differs from the defaults, and axes keep their order", "[schemas]") {
  const auto spec = parse_sweep_spec(read_text_file(test::golden_path("sweep.json")), "s");
  CHECK(spec.name == "quick");
  CHECK(spec.policy.samples == 5);
  CHECK(spec.policy.max_rounds == MeasurePolicy{}.max_rounds);
  CHECK(spec.policy.timer == Timer::host);
  REQUIRE(spec.families.size() == 2);
  const auto& seed = spec.families[0];
  CHECK(seed.base.geometry == Geometry{});
  CHECK(seed.base.selection.overlap == 0.95);
  REQUIRE(seed.axes.size() == 3);
  CHECK(seed.axes[0] == std::pair{std::string("seq_len"), std::vector<std::string>{"512", "1024"}});
  CHECK(seed.axes[1].first == "dtype");
  CHECK(seed.axes[2].second == std::vector<std::string>{"0.5", "0.95"});
  CHECK(spec.families[1].axes[0].second == std::vector<std::string>{"2048", "8192"});
  CHECK(spec.families[1].stages == std::vector<std::string>{"attend_selected"});
}

TEST_CASE("a spec survives JSON", "[schemas]") {
  for (const auto& spec : {test::filled_spec(),
                           parse_sweep_spec(read_text_file(test::golden_path("sweep.json")), "s")})
    CHECK(parse_sweep_spec(test::json_of(spec).dump(), "s") == spec);
}

TEST_CASE("a spec that cannot be measured is refused with its pointer", "[schemas]") {
  CHECK(
      refusal(R"({"schema_version": 1, "families": []})").starts_with("s.json: /families: an ar"));
  CHECK(refusal(R"({"schema_version": 1})").find("\"families\" is missing") != std::string::npos);
  CHECK(refusal(R"({"schema_version": 9})").starts_with("s.json: /schema_version: is 9"));
  CHECK(
      refusal(spec_with(R"(, "axes": {"seq_length": [1]})"))
          .starts_with("s.json: /families/0/axes/seq_length: is not an axis; the axes are batch"));
  CHECK(
      refusal(spec_with(R"(, "axes": {"seq_len": []})")).starts_with("s.json: /families/0/axes/"));
  CHECK(refusal(spec_with(R"(, "axes": {"seq_len": [true]})"))
            .starts_with("s.json: /families/0/axes/seq_len/0: true is not valid"));
  CHECK(refusal(spec_with(R"(, "axes": {"seq_len": [512, "512"]})"))
            .starts_with("s.json: /families/0/axes/seq_len/0: \"512\" appears twice"));
  CHECK(refusal(spec_with(R"(, "base": {"q_heads": 12, "kv_heads": 5})"))
            .starts_with("s.json: /families/0/base/q_heads: 12 is not a multiple"));
  CHECK(refusal(spec_with(R"(, "base": {"sel_count": 2})"))
            .starts_with("s.json: /families/0/base/sel_count: 2 is not valid"));
  CHECK(refusal(spec_with(R"(, "base": {"seq_len": 2})")).find("unknown field \"seq_len\"") !=
        std::string::npos);
  CHECK(refusal(spec_with("", R"("policy": {"min_rounds": 21}, )"))
            .starts_with("s.json: /policy/min_rounds: 21 is above max_rounds 20"));
  CHECK(refusal(spec_with("", R"("budget_s": 0, )")).starts_with("s.json: /budget_s: 0 is not"));
  CHECK(refusal(spec_with("", R"("budget_s": -5, )")).starts_with("s.json: /budget_s: -5 is"));
  CHECK(refusal(spec_with(R"(}, {"name": "f")")).starts_with("s.json: /families/1/name: \"f\""));
  CHECK(refusal(spec_with("")).empty());
}

TEST_CASE("older names of roles are still read", "[schemas]") {
  Json j = test::json_of(test::filled_spec());
  j.at("families")[0]["roles"] = {"candidate", "opt_in", "yardstick"};
  CHECK(parse_sweep_spec(j.dump(), "older.json").families.at(0).roles ==
        std::vector<std::string>{"candidate", "reduced_precision", "baseline"});
}

}  // namespace
}  // namespace nsa
