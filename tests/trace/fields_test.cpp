// The lists of fields that the documents of `trace summary` and `trace diff` are made from, and the
// schemas of these documents.
#include "diff/fields.hpp"
#include "field_names.hpp"
#include "nsa/trace/summary_json.hpp"
#include "summary_fields.hpp"
#include "traces.hpp"

namespace nsa::test {
namespace {

/// A document has a field of T unless it is one that may be left out; `beside`: what is put beside
/// them.
template <class T>
void compare(const std::string& pointer, const Names& beside = {},
             const char* schema = "trace_summary") {
  CAPTURE(pointer);
  using fields::Kind;
  CHECK(field_names<T>() == schema_names(schema, pointer, "properties", beside));
  CHECK(field_names<T>({Kind::required, Kind::or_null}) ==
        schema_names(schema, pointer, "required", beside));
}

/// What is read of a written object, written again.
template <class T>
Json again(const Json& written) {
  T value;
  fields::read_object(written, value);
  return fields::object_of(value);
}

TEST_CASE("lists of fields name the fields of a trace's summary", "[trace]") {
  compare<trace::Summary>("", {"schema_version", "ranks"});
  compare<trace::KeptCounts>("/properties/kept");
  compare<trace::Clocks>("/properties/clocks");
  compare<trace::IdleClasses>("/properties/idle_by_class_ns");
  compare<trace::LaunchToStart>("/properties/launch_to_start_ns");
  compare<trace::StepTimes>("/properties/step_times");
  compare<trace::StepCause>("/properties/step_times/properties/causes/items");
  compare<trace::CriticalPath>("/properties/critical_path");
  compare<trace::PathPart>("/properties/critical_path/properties/parts/items");
  compare<trace::WhatIf>("/properties/critical_path/properties/what_if/items");
  compare<trace::Gaps>("/properties/gaps");
  compare<trace::GapRow>("/properties/gaps/properties/longest/items", {"rank"});
  compare<trace::MemorySummary>("/properties/memory");
  compare<trace::DeviceId>("/properties/worst_device", {"rank"});
  compare<trace::RecordingRow>("/definitions/recording");
  compare<trace::Note>("/definitions/recording/properties/notes/items");
  compare<trace::QueueRow>("/definitions/queue", {"rank"});
  compare<trace::KernelRow>("/definitions/kernel");
  compare<trace::TimesByName>("/definitions/gpu_range");
  compare<trace::HostSync>("/definitions/host_sync");
  compare<trace::OperatorRow>("/definitions/operator");
  compare<trace::OperatorShape>("/definitions/operator/properties/shapes/items");
  compare<trace::AnnotationRow>("/definitions/annotation");
  compare<trace::ModuleRow>("/definitions/module");
  compare<trace::CopyRow>("/definitions/copy");
  compare<trace::Step>("/definitions/step");
  compare<trace::StageRow>("/definitions/stage");
  compare<trace::AttentionRow>("/definitions/attention");
  compare<trace::Allocation>("/definitions/allocation");
  compare<trace::DeviceSummary>("/definitions/device", {"rank"});
  compare<trace::StreamSummary>("/definitions/stream");
}

TEST_CASE("lists of fields name the fields of communication in a trace's summary", "[trace]") {
  const std::string collectives = "/properties/collectives";
  compare<trace::Collectives>(collectives);
  compare<trace::CollectiveRow>(collectives + "/properties/rows/items");
  compare<trace::CollectiveCall>(collectives + "/properties/longest_waits/items");
  compare<trace::Straggler>(collectives + "/properties/longest_waits/items/properties/last");
  compare<trace::StragglerRow>(collectives + "/properties/ranks/items");
}

TEST_CASE("lists of fields name the fields of a comparison of traces", "[trace]") {
  compare<trace::TraceDiff>("", {"schema_version", "ranks"}, "trace_diff");
  compare<trace::DiffRow>("/definitions/row", {}, "trace_diff");
}

/// Two steps with products and a wait in each.
JsonTrace two_steps() {
  JsonTrace t;
  for (int i = 0; i < 2; ++i) {
    t.range("ProfilerStep#" + std::to_string(i), 100 * i, 90)
        .op("aten::mm", 100 * i + 1, 30, R"("Input Dims": [[8, 4], [4, 2]])")
        .launched("gemm", i + 1, 100 * i + 2, 100 * i + 10, 40)
        .call("cudaDeviceSynchronize", i + 11, 100 * i + 40, 20);
  }
  return t;
}

TEST_CASE("rows of a trace's summary are read as they were written", "[trace]") {
  const Json j = trace::to_document(two_steps().summary());
  REQUIRE(j.at("kernels_by_name").size() == 1);
  CHECK(again<trace::KernelRow>(j.at("kernels_by_name")[0]) == j.at("kernels_by_name")[0]);
  REQUIRE(j.at("operators").size() == 1);
  CHECK(again<trace::OperatorRow>(j.at("operators")[0]) == j.at("operators")[0]);
  REQUIRE(j.at("host_syncs").size() == 1);
  CHECK(again<trace::HostSync>(j.at("host_syncs")[0]) == j.at("host_syncs")[0]);
  REQUIRE_FALSE(j.at("critical_path").at("parts").empty());
  CHECK(again<trace::CriticalPath>(j.at("critical_path")) == j.at("critical_path"));
  REQUIRE_FALSE(j.at("gaps").at("causes").empty());
  CHECK(again<trace::GapCause>(j.at("gaps").at("causes")[0]) == j.at("gaps").at("causes")[0]);
}

TEST_CASE("of one gap no cause has a number of gaps, of all gaps each has", "[trace]") {
  const Json gaps = trace::to_document(two_steps().summary()).at("gaps");
  for (const Json& cause : gaps.at("causes")) CHECK(cause.at("count").get<int>() >= 1);
  REQUIRE_FALSE(gaps.at("longest").empty());
  for (const Json& gap : gaps.at("longest"))
    for (const Json& part : gap.at("parts")) CHECK_FALSE(part.contains("count"));
}

TEST_CASE("a product of more operations than a double holds has none in a summary", "[trace]") {
  const trace::Summary s =
      two_steps()
          .op("aten::bmm", 500, 10, R"("Input Dims": [[1e200, 1e200, 2], [1e200, 2, 2]])")
          .launched("large", 91, 501, 520, 10)
          .summary();
  const Json j = trace::to_document(s);
  bool seen = false;
  for (const Json& row : j.at("operators")) {
    if (row.at("name") != "aten::bmm") continue;
    seen = true;
    CHECK(row.at("flop").is_null());
  }
  CHECK(seen);
}

}  // namespace
}  // namespace nsa::test
