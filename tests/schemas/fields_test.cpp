// The lists of fields (nsa/schemas/fields) and the JSON Schemas name the same fields, and agree on
// which of them a document must have.
#include "field_names.hpp"
#include "nsa/schemas/fields/launch.hpp"
#include "nsa/schemas/fields/measurement.hpp"
#include "nsa/schemas/fields/run.hpp"
#include "nsa/schemas/fields/sweep.hpp"
#include "nsa/schemas/fields/thresholds.hpp"
#include "nsa/schemas/fields/worker.hpp"

namespace nsa {
namespace {

/// `definition`: a part of the schema; "" for the document.
template <class T>
void compare(const char* schema, const std::string& definition = "") {
  CAPTURE(schema, definition);
  const std::string pointer = definition.empty() ? "" : "/definitions/" + definition;
  CHECK(test::field_names<T>() == test::schema_names(schema, pointer, "properties", {"type"}));
  // What a schema asks for need not be asked for again; what it does not ask for must not be.
  const test::Names required = test::schema_names(schema, pointer, "required");
  for (const std::string& name : test::field_names<T>({fields::Kind::required})) {
    CAPTURE(name);
    CHECK(required.contains(name));
  }
}

TEST_CASE("lists of fields name the fields of the schemas", "[schemas]") {
  compare<Problem>("problem");
  compare<Selection>("problem", "selection");
  compare<ProblemClass>("problem_class");
  compare<VariantId>("variant");
  compare<Device>("device");
  compare<Capability>("capability");
  compare<Measurement>("measurement");
  compare<Placed>("measurement", "placed");
  compare<Sample>("measurement", "sample");
  compare<ClockReading>("measurement", "clocks");
  compare<ReserveNeed>("measurement", "need");
  compare<Cost>("measurement", "cost");
  compare<Run>("run");
  compare<EnvironmentFact>("run", "fact");
  compare<LaunchTrace>("launch_trace");
  compare<LaunchCounters>("launch_counters");
  compare<SweepSpec>("sweep");
  compare<MeasurePolicy>("sweep", "policy");
  compare<ProblemFamily>("sweep", "family");
}

TEST_CASE("lists of fields name the fields of a thresholds file", "[schemas]") {
  compare<ThresholdTable>("thresholds");
  compare<ClassDecisions>("thresholds", "class");
  compare<DenseBreakEven>("thresholds", "dense_break_even");
  compare<Decision>("thresholds", "decision");
  compare<Alignment>("thresholds", "alignment");
  compare<HeldOut>("thresholds", "held_out");
  compare<ThresholdRange>("thresholds", "range");
  compare<Evidence>("thresholds", "evidence");
  compare<Reserves>("thresholds", "reserves");
  compare<ReserveGains>("thresholds", "reserve_gains");
  compare<ReserveGain>("thresholds", "reserve_gain");
  compare<FlatView>("thresholds", "flat");
  compare<Validators>("thresholds", "validators");
}

template <class... Messages>
void compare_messages(const char* schema, const std::variant<Messages...>*) {
  (compare<Messages>(schema, fields::kType<Messages>), ...);
}

TEST_CASE("lists of fields name the fields of the worker protocol", "[schemas]") {
  compare_messages("worker_request", static_cast<worker::Request*>(nullptr));
  compare_messages("worker_reply", static_cast<worker::Reply*>(nullptr));
  compare<worker::OfferedVariant>("worker_reply", "offered");
}

}  // namespace
}  // namespace nsa
