// Objects with every field set to something else than its default.
#pragma once

#include <string>
#include <vector>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::test {

Problem filled_problem();
VariantId filled_variant();
Device filled_device();
Measurement filled_measurement();
Run filled_run();
SweepSpec filled_spec();
ThresholdTable filled_table();
/// One of each, every optional field present.
LaunchTrace filled_launch_trace();
LaunchTraceRow filled_launch_trace_row();
LaunchCounters filled_launch_counters();
LaunchCountersRow filled_launch_counters_row();
std::vector<worker::Request> filled_requests();
std::vector<worker::Reply> filled_replies();
/// One of each, every optional field absent.
std::vector<worker::Request> bare_requests();
std::vector<worker::Reply> bare_replies();

/// The text of the InputError that `call` throws; "" when it throws none.
template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

/// A file under tests/golden/schemas.
std::string golden_path(const std::string& name);

template <class T>
Json json_of(const T& value) {
  Json j;
  to_json(j, value);
  return j;
}
template <class T>
T from(const Json& j) {
  T value;
  from_json(j, value);
  return value;
}

}  // namespace nsa::test
