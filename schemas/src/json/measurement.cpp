// JSON of measurements, of launches and of runs: field by field.
#include "nsa/schemas/fields/measurement.hpp"
#include "nsa/schemas/fields/json.hpp"
#include "nsa/schemas/fields/launch.hpp"
#include "nsa/schemas/fields/run.hpp"

namespace nsa {

void to_json(Json& j, const Sample& v) { j = fields::object_of(v); }
void to_json(Json& j, const ClockReading& v) { j = fields::object_of(v); }
void to_json(Json& j, const ReserveNeed& v) { j = fields::object_of(v); }
void to_json(Json& j, const Measurement& v) { j = fields::object_of(v); }
void from_json(const Json& j, Sample& v) { fields::read_object(j, v); }
void from_json(const Json& j, ClockReading& v) { fields::read_object(j, v); }
void from_json(const Json& j, ReserveNeed& v) { fields::read_object(j, v); }
void from_json(const Json& j, Measurement& v) { fields::read_object(j, v); }

void to_json(Json& j, const TracedKernel& v) { j = fields::object_of(v); }
void to_json(Json& j, const LaunchTrace& v) { j = fields::object_of(v); }
void to_json(Json& j, const LaunchTraceRow& v) { j = fields::object_of(v); }
void to_json(Json& j, const LaunchCounters& v) { j = fields::object_of(v); }
void to_json(Json& j, const LaunchCountersRow& v) { j = fields::object_of(v); }
void from_json(const Json& j, TracedKernel& v) { fields::read_object(j, v); }
void from_json(const Json& j, LaunchTrace& v) { fields::read_object(j, v); }
void from_json(const Json& j, LaunchTraceRow& v) { fields::read_object(j, v); }
void from_json(const Json& j, LaunchCounters& v) { fields::read_object(j, v); }
void from_json(const Json& j, LaunchCountersRow& v) { fields::read_object(j, v); }

void to_json(Json& j, const Environment& v) { j = fields::value_of(v.facts); }
void from_json(const Json& j, Environment& v) { fields::get(j, v.facts); }
void to_json(Json& j, const Run& v) { j = fields::object_of(v); }
void from_json(const Json& j, Run& v) { fields::read_object(j, v); }

}  // namespace nsa
