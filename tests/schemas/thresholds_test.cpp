#include "nsa/schemas/thresholds.hpp"

#include <functional>
#include <map>

#include "catch.hpp"
#include "filled.hpp"

namespace nsa {
namespace {

std::string refusal(const std::string& text) {
  const auto message = test::message_of([&] { (void)parse_thresholds(text, "t.json"); });
  CHECK(message.find('\n') == std::string::npos);
  CHECK(message.size() < 1000);
  return message;
}

std::string refusal_of(const std::function<void(ThresholdTable&)>& change) {
  ThresholdTable t = test::filled_table();
  change(t);
  return refusal(dump_thresholds(t));
}

TEST_CASE("a table survives its file, and its file is the same bytes again", "[schemas]") {
  const ThresholdTable table = test::filled_table();
  const std::string text = dump_thresholds(table);
  CHECK(parse_thresholds(text, "t") == table);
  CHECK(dump_thresholds(parse_thresholds(text, "t")) == text);
  CHECK(text.ends_with("}\n"));
}

TEST_CASE("the example file is written as it is read", "[schemas]") {
  const std::string path = test::golden_path("thresholds.json");
  const ThresholdTable table = load_thresholds(path);
  CHECK(table.device.name == "Fictional GPU");
  REQUIRE(table.classes.size() == 1);
  const auto& ranges = table.classes[0].decisions.at(0).ranges;
  REQUIRE(ranges.size() == 2);
  CHECK(to_string(ranges[1].variant) == "attend_selected/fused_query.bq=64.st=3");
  CHECK_FALSE(ranges[1].to);
  CHECK(table.classes[0].flat.fa2_min_len_win == FlatValue::from(16));
  CHECK(table.classes[0].flat.fa2_min_len_cmp == FlatValue::never());
  CHECK(table.classes[0].flat.gate_compile == FlatValue::always());
  CHECK(table.classes[0].flat.p_cmp_mixed == FlatValue());
  CHECK(dump_thresholds(table) == read_text_file(path));
}

TEST_CASE("variants that a file spells as before are told as they are spelled now", "[schemas]") {
  Json j = Json::parse(read_text_file(test::golden_path("thresholds.json")));
  Json& evidence = j["classes"][0]["decisions"][0]["ranges"][0]["evidence"];
  evidence["runner_up"] = "attend_selected/fused_query.t64.st3";
  evidence["ties"] = {"attend_selected/fused_query.bq30", "attend_selected/masked"};
  const ThresholdTable table = parse_thresholds(j.dump(), "older.json");
  const Evidence& read = table.classes[0].decisions[0].ranges[0].evidence;
  CHECK(read.runner_up == "attend_selected/fused_query.bq=64.st=3");
  CHECK(read.ties ==
        std::vector<std::string>{"attend_selected/fused_query.bq=30", "attend_selected/masked"});
}

/// The flat view of the example file with older values in it, read as a file of that version.
FlatView older_view(int version, const std::map<std::string, Json>& values) {
  Json j = Json::parse(read_text_file(test::golden_path("thresholds.json")));
  j["schema_version"] = version;
  for (const auto& [key, value] : values) j["classes"][0]["flat"][key] = value;
  return parse_thresholds(j.dump(), "older.json").classes.at(0).flat;
}

TEST_CASE("null, 0 and booleans of older flat views are read as what they meant", "[schemas]") {
  for (const int version : {1, 2}) {
    const FlatView v = older_view(version, {{"fa2_min_len_win", nullptr},
                                            {"fa2_min_len_cmp", 0},
                                            {"sel_varlen_min_l", 700},
                                            {"force_sel_mask", true},
                                            {"use_sel_pack", false},
                                            {"use_sel_varlen", false},
                                            {"gate_compile", true},
                                            {"p_cmp_mixed", false}});
    CHECK(v.fa2_min_len_win == FlatValue::never());
    CHECK(v.fa2_min_len_cmp == FlatValue::always());
    CHECK(v.sel_varlen_min_l == FlatValue::from(700));
    CHECK(v.force_sel_mask == FlatValue::always());
    CHECK(v.use_sel_pack == FlatValue::never());
    CHECK(v.gate_compile == FlatValue::always());
    CHECK(v.p_cmp_mixed == FlatValue::never());
  }
}

TEST_CASE("three selection switches off said that another kernel was chosen", "[schemas]") {
  const FlatView v = older_view(
      2, {{"force_sel_mask", false}, {"use_sel_pack", false}, {"use_sel_varlen", false}});
  CHECK(v.force_sel_mask == FlatValue());
  CHECK(v.use_sel_pack == FlatValue());
  CHECK(v.use_sel_varlen == FlatValue());
}

TEST_CASE("the older name of the dense baseline is still read", "[schemas]") {
  Json j = Json::parse(dump_thresholds(test::filled_table()));
  Json& dense = j.at("classes")[0].at("dense_break_even");
  const Json name = dense.at("baseline");
  dense.erase("baseline");
  dense["yardstick"] = name;
  CHECK(parse_thresholds(j.dump(), "older.json") == test::filled_table());
  dense["baseline"] = name;
  CHECK(test::message_of([&] {
          parse_thresholds(j.dump(), "both.json");
        }).starts_with("both.json: /classes/0/dense_break_even"));
}

TEST_CASE("older values are refused in a file of today", "[schemas]") {
  for (const Json& value : {Json(nullptr), Json(0), Json("alwyas"), Json(true)}) {
    const auto message = test::message_of([&] {
      older_view(kThresholdsSchemaVersion, {{"fa2_min_len_win", value}});
    });
    CHECK(message.starts_with("older.json: /classes/0/flat/fa2_min_len_win: "));
  }
}

TEST_CASE("a line of the file has 100 columns at most where values allow it", "[schemas]") {
  const std::string text = dump_thresholds(test::filled_table());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    CHECK(end - at <= 100);
    at = end + 1;
  }
}

TEST_CASE("a file of another schema version is refused for that reason only", "[schemas]") {
  CHECK(
      refusal(R"({"schema_version": 4, "anything": "else"})") ==
      "t.json: /schema_version: is 4, this program reads 1 to 3; run 'nsatune tune' to make a new "
      "file");
  CHECK(refusal(R"({"schema_version": "1"})").starts_with("t.json: /schema_version: \"1\" is not"));
  CHECK(refusal("{}").starts_with("t.json: /schema_version: is missing"));
  CHECK(refusal("[]").starts_with("t.json: /: an array of 0"));
}

TEST_CASE("ranges that overlap or go down are refused, and gaps between them are not",
          "[schemas]") {
  const auto ranges = [](ThresholdTable & t) -> auto& { return t.classes[0].decisions[0].ranges; };
  const std::string at = "t.json: /classes/0/decisions/0/ranges";
  CHECK(refusal_of([&](auto& t) { ranges(t)[1].from = 600; }).empty());
  CHECK(refusal_of([&](auto& t) {
          ranges(t)[1].from = 500;
        }).starts_with(at + "/1/from: 500 is below the end 512"));
  CHECK(refusal_of([&](auto& t) {
          t.classes[0].decisions[0].alignment->ranges[1].from = 500;
        }).starts_with("t.json: /classes/0/decisions/0/alignment/ranges/1/from: 500"));
  CHECK(
      refusal_of([&](auto& t) { ranges(t)[0].to.reset(); }).starts_with(at + "/0/to: is missing"));
  CHECK(refusal_of([&](auto& t) { ranges(t)[1].to = 512; }).starts_with(at + "/1/to: 512 is not"));
  CHECK(refusal_of([&](auto& t) { ranges(t)[0].to = 0; }).starts_with(at + "/0/to: 0 is not"));
  CHECK(refusal_of([&](auto& t) { ranges(t).clear(); }).starts_with(at + ": an array of 0"));
  CHECK(refusal_of([&](auto& t) { ranges(t)[1].to = 4096; }).empty());
}

TEST_CASE("a class or a decision that is there twice is refused", "[schemas]") {
  CHECK(refusal_of([](auto& t) { t.classes.push_back(t.classes[0]); }) ==
        "t.json: /classes/1/problem_class: is the same as that of class 0");
  CHECK(refusal_of([](auto& t) {
          t.classes[0].decisions.push_back(t.classes[0].decisions[0]);
        }).starts_with("t.json: /classes/0/decisions/1: decides the same"));
  CHECK(refusal_of([](auto& t) {
          t.classes[0].decisions.push_back(t.classes[0].decisions[0]);
          t.classes[0].decisions[1].launch = LaunchMode::eager;
        }).empty());
}

TEST_CASE("a class that no problem can have is refused", "[schemas]") {
  CHECK(refusal_of([](auto& t) {
          t.classes[0].problem_class.q_heads = 7;
        }).starts_with("t.json: /classes/0/problem_class/q_heads: 7 is not a multiple"));
  CHECK(refusal_of([](auto& t) {
          t.classes[0].problem_class.geometry.cmp_stride = 12;
        }).starts_with("t.json: /classes/0/problem_class/cmp_stride: 12 does not divide"));
}

TEST_CASE("variants and intervals that mean nothing are refused", "[schemas]") {
  const std::string at = "t.json: /classes/0/decisions/0/ranges/1";
  const auto range = [](ThresholdTable & t) -> auto& {
    return t.classes[0].decisions[0].ranges[1];
  };
  CHECK(
      refusal_of([&](auto& t) { range(t).variant.name = "a b"; }).starts_with(at + "/variant: v"));
  CHECK(
      refusal_of([&](auto& t) { range(t).variant.name = "a.b3"; }).starts_with(at + "/variant: "));
  CHECK(refusal_of([&](auto& t) {
          range(t).variant.stages = {"a+b"};
        }).starts_with(at + "/variant: "));
  CHECK(refusal_of([&](auto& t) {
          range(t).evidence.runner_up = "masked";
        }).starts_with(at + "/evidence/runner_up: "));
  CHECK(refusal_of([&](auto& t) {
          range(t).evidence.ratio_low = 2;
        }).starts_with(at + "/evidence/ratio_low: is above"));
}

TEST_CASE("a truncated file is refused at every length", "[schemas]") {
  const std::string text = read_text_file(test::golden_path("thresholds.json"));
  for (std::size_t n = 0; n + 2 < text.size(); n += 7)
    CHECK(refusal(text.substr(0, n)).starts_with("t.json:"));
}

TEST_CASE("a file that is not there is refused by its path", "[schemas]") {
  CHECK(test::message_of([] {
          (void)load_thresholds("/no/such/file.json");
        }).starts_with("/no/such/file.json: cannot be found"));
}

}  // namespace
}  // namespace nsa
