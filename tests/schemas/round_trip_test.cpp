// Every document: struct -> JSON -> struct, and the JSON obeys its schema.
#include "catch.hpp"
#include "filled.hpp"

namespace nsa {
namespace {

using test::from;
using test::json_of;

/// Valid by `schema`, and the same after another round trip through text.
template <class T>
T checked(const T& value, const char* schema) {
  const Json j = json_of(value);
  CAPTURE(schema, j.dump());
  CHECK(test::message_of([&] { validate_json(j, schema, "test"); }).empty());
  const T again = from<T>(parse_json(j.dump(), "test"));
  CHECK(json_of(again) == j);
  return again;
}

TEST_CASE("documents with every field set survive JSON and obey their schemas", "[schemas]") {
  CHECK(checked(test::filled_problem(), "problem") == test::filled_problem());
  CHECK(checked(test::filled_variant(), "variant") == test::filled_variant());
  CHECK(checked(test::filled_device(), "device") == test::filled_device());
  CHECK(checked(test::filled_spec(), "sweep") == test::filled_spec());
  CHECK(checked(test::filled_table(), "thresholds") == test::filled_table());
  const auto c = class_of(test::filled_problem());
  CHECK(checked(c, "problem_class") == c);
  checked(test::filled_run(), "run");
  CHECK(checked(test::filled_launch_trace(), "launch_trace") == test::filled_launch_trace());
  CHECK(checked(test::filled_launch_counters(), "launch_counters") ==
        test::filled_launch_counters());
  const Measurement m = checked(test::filled_measurement(), "measurement");
  CHECK(m.samples == test::filled_measurement().samples);
  CHECK(m.clocks == test::filled_measurement().clocks);
  CHECK(m.need == test::filled_measurement().need);
  CHECK(m.placement == test::filled_measurement().placement);
  CHECK(m.variant == test::filled_measurement().variant);
  CHECK(m.note == test::filled_measurement().note);
}

TEST_CASE("a traced launch survives JSON, alone and in the list of them", "[schemas]") {
  const LaunchTraceRow row = test::filled_launch_trace_row();
  Json list = Json::array();
  list.push_back(row);
  const Json document{{"launch_traces", list}};
  CHECK_NOTHROW(validate_json(document, "launch_traces", "test"));
  LaunchTraceRow back;
  from_json(document["launch_traces"][0], back);
  CHECK(back == row);
}

TEST_CASE("a counted launch survives JSON, and one that was not read has no numbers", "[schemas]") {
  LaunchCountersRow unread = test::filled_launch_counters_row();
  unread.counters = {};
  for (const LaunchCountersRow& row : {test::filled_launch_counters_row(), unread}) {
    Json list = Json::array();
    list.push_back(row);
    const Json document{{"launch_counters", list}};
    CHECK_NOTHROW(validate_json(document, "db_counters", "test"));
    LaunchCountersRow back;
    from_json(document["launch_counters"][0], back);
    CHECK(back == row);
    CHECK(document["launch_counters"][0]["counters"].contains("dram_share") ==
          row.counters.dram_share.has_value());
  }
}

TEST_CASE("documents with nothing set survive JSON and obey their schemas", "[schemas]") {
  CHECK(checked(Problem{}, "problem") == Problem{});
  CHECK(checked(ProblemClass{}, "problem_class") == ProblemClass{});
  CHECK(checked(Device{}, "device") == Device{});
  CHECK(checked(ThresholdTable{}, "thresholds") == ThresholdTable{});
  Measurement m;
  m.id = m.run_id = "x";
  m.variant.name = "x";
  checked(m, "measurement");
  Run run;
  run.id = "x";
  checked(run, "run");
  SweepSpec spec;
  spec.families.emplace_back().name = "x";
  CHECK(checked(spec, "sweep") == spec);
}

TEST_CASE("absent optionals are left out, and the flat view says what was not measured",
          "[schemas]") {
  CHECK_FALSE(json_of(Device{}).contains("memory_bytes"));
  CHECK_FALSE(json_of(Device{}).contains("driver"));
  CHECK_FALSE(json_of(Problem{}).contains("model_dim"));
  CHECK_FALSE(json_of(Problem{}).at("selection").contains("overlap"));
  CHECK_FALSE(json_of(Measurement{}).contains("need"));
  CHECK_FALSE(json_of(Measurement{}).contains("note"));
  CHECK_FALSE(json_of(Evidence{}).contains("median_ratio"));
  CHECK(json_of(FlatView{}).at("fa2_min_len_win") == "not_measured");
  CHECK(json_of(FlatView{}).at("force_sel_mask") == "not_measured");
  CHECK(json_of(FlatView{}).at("sel_pack_reserve_n").is_null());
}

TEST_CASE("a measurement from before there were notes is read as one without", "[schemas]") {
  Json j = json_of(test::filled_measurement());
  REQUIRE(j.erase("note") == 1);
  CHECK_NOTHROW(validate_json(j, "measurement", "test"));
  CHECK(from<Measurement>(j).note.empty());
  CHECK(json_of(from<Measurement>(j)) == j);
}

TEST_CASE("a measurement from before lengths were held out is read as one to decide upon",
          "[schemas]") {
  Json j = json_of(test::filled_measurement());
  REQUIRE(j.at("held_out") == true);
  REQUIRE(j.erase("held_out") == 1);
  CHECK_NOTHROW(validate_json(j, "measurement", "test"));
  CHECK_FALSE(from<Measurement>(j).held_out);
}

TEST_CASE("a problem has the flat keys of the worker protocol, in its order", "[schemas]") {
  Problem p;
  p.dtype = Dtype::bf16;
  CHECK(json_of(p).dump() ==
        R"({"direction":"forward","phase":"prefill","seq_lens":[2048],"context_lens":[0],)"
        R"("q_heads":12,"kv_heads":2,"head_dim_k":64,"head_dim_v":64,"cmp_block":32,)"
        R"("cmp_stride":16,"sel_block":64,"sel_count":16,"window":512,"dtype":"bf16",)"
        R"("selection":{"pattern":"random"}})");
}

TEST_CASE("a problem without contexts has empty ones for each sequence", "[schemas]") {
  const auto p = from<Problem>(Json::parse(R"({"seq_lens": [5, 6, 7]})"));
  CHECK(p.context_lens == std::vector<std::int64_t>{0, 0, 0});
}

TEST_CASE("text that is no UTF-8 can be printed all the same", "[schemas]") {
  Measurement m = test::filled_measurement();
  m.reason = "killed \xff\xfe";
  const std::string text = json_of(m).dump();
  CHECK(from<Measurement>(parse_json(text, "t")).reason == "killed \xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("readings that are no numbers are left out, and a worst row stays the worst",
          "[schemas]") {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  Measurement m = test::filled_measurement();
  m.median_ns = kNaN;
  m.worst_row_error = kNaN;
  const Json j = json_of(m);
  CHECK_FALSE(j.contains("median_ns"));
  CHECK(j.at("worst_row_error") == std::numeric_limits<double>::max());
  m.cost.flop = kNaN;
  CHECK_THROWS_AS(json_of(m), ContractError);
}

TEST_CASE("conversion without validation still refuses what does not fit, with its pointer",
          "[schemas]") {
  const auto refusal = [](const char* text) {
    return test::message_of([&] { (void)from<ThresholdTable>(Json::parse(text)); });
  };
  CHECK(refusal("[]") == ": is not an object");
  CHECK(refusal("{}").find("'schema_version' is missing") != std::string::npos);
  CHECK(refusal(R"({"schema_version": 5000000000})") == "/schema_version: does not fit 32 bits");
  Json j = json_of(test::filled_table());
  j["classes"][0]["decisions"][0]["ranges"][1]["from"] = 9223372036854775808u;
  CHECK(refusal(j.dump().c_str()) == "/classes/0/decisions/0/ranges/1/from: does not fit 64 bits");
  j["classes"][0]["decisions"][0]["axis"] = "length";
  CHECK(refusal(j.dump().c_str()) ==
        "/classes/0/decisions/0/axis: \"length\" is not one of the known names");
}

}  // namespace
}  // namespace nsa
