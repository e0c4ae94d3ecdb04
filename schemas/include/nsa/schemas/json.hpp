// JSON of the vocabulary. Input is hostile until parsed: text is first parsed (line and column),
// then validated against the JSON Schema of its kind (JSON pointer), and only then converted.
// Functions share nothing: threads may call them at the same time. A file that two threads write is
// that of the one which finishes last, never a mixture.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "nsa/schemas/device.hpp"
#include "nsa/schemas/launch_counters.hpp"
#include "nsa/schemas/launch_trace.hpp"
#include "nsa/schemas/measurement.hpp"
#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/run.hpp"
#include "nsa/schemas/sweep_spec.hpp"
#include "nsa/schemas/thresholds.hpp"
#include "nsa/schemas/variant.hpp"
#include "nsa/schemas/worker.hpp"

namespace nsa {

using Json = nlohmann::ordered_json;

/// The document of a value. Absent optionals are left out, except in the flat view of a thresholds
/// file, where null means never. ContractError for a number that JSON does not have.
void to_json(Json& j, const Problem& v);
void to_json(Json& j, const ProblemClass& v);
void to_json(Json& j, const VariantId& v);
void to_json(Json& j, const Device& v);
void to_json(Json& j, const Capability& v);
void to_json(Json& j, const Placed& v);
void to_json(Json& j, const Sample& v);
void to_json(Json& j, const ClockReading& v);
void to_json(Json& j, const ReserveNeed& v);
void to_json(Json& j, const Measurement& v);
void to_json(Json& j, const TracedKernel& v);
void to_json(Json& j, const LaunchTrace& v);
void to_json(Json& j, const LaunchTraceRow& v);
void to_json(Json& j, const LaunchCounters& v);
void to_json(Json& j, const LaunchCountersRow& v);
void to_json(Json& j, const Environment& v);
void to_json(Json& j, const Run& v);
void to_json(Json& j, const SweepSpec& v);
void to_json(Json& j, const Reserves& v);
void to_json(Json& j, const FlatView& v);
void to_json(Json& j, const Evidence& v);
void to_json(Json& j, const ThresholdTable& v);
/// The value of a document of its schema. InputError with a JSON pointer where a field is missing,
/// of another type or out of range.
void from_json(const Json& j, Problem& v);
void from_json(const Json& j, ProblemClass& v);
void from_json(const Json& j, VariantId& v);
void from_json(const Json& j, Device& v);
void from_json(const Json& j, Placed& v);
void from_json(const Json& j, Sample& v);
void from_json(const Json& j, ClockReading& v);
void from_json(const Json& j, ReserveNeed& v);
void from_json(const Json& j, Measurement& v);
void from_json(const Json& j, TracedKernel& v);
void from_json(const Json& j, LaunchTrace& v);
void from_json(const Json& j, LaunchTraceRow& v);
void from_json(const Json& j, LaunchCounters& v);
void from_json(const Json& j, LaunchCountersRow& v);
void from_json(const Json& j, Environment& v);
void from_json(const Json& j, Run& v);
void from_json(const Json& j, SweepSpec& v);
void from_json(const Json& j, Evidence& v);
void from_json(const Json& j, ThresholdTable& v);

/// Parses text; InputError "<where>:<line>:<column>: ..." on syntax, depth over 64, duplicate keys,
/// invalid UTF-8 or more than 64 MiB.
Json parse_json(std::string_view text, const std::string& where);
/// Validates against the schema of that name ("thresholds", "sweep", "worker_reply", ... : the file
/// names in schemas/json). InputError "<where>: /json/pointer: ..." on the first violation.
void validate_json(const Json& document, std::string_view schema, const std::string& where);
/// Text of a schema as in schemas/json; ContractError for an unknown name.
std::string_view schema_text(std::string_view schema);
/// Reads a whole file; InputError when it is missing, not a regular file, or over 64 MiB.
std::string read_text_file(const std::string& path);
/// Writes beside it and renames. InputError: a bad path, a database; EnvironmentError: the machine.
void write_text_file(const std::string& path, std::string_view text);

/// A thresholds file: parsed, validated and converted, its meaning checked too (ranges ascending
/// without gap, problems valid, one class once). InputError that begins with the path.
ThresholdTable load_thresholds(const std::string& path);
/// The same of a text; InputError begins with `where`.
ThresholdTable parse_thresholds(std::string_view text, const std::string& where);
/// Likewise, a sweep spec.
SweepSpec parse_sweep_spec(std::string_view text, const std::string& where);
/// Pretty form with two spaces and a final newline, the same bytes for the same table.
std::string dump_thresholds(const ThresholdTable& table);

/// 64-bit FNV-1a as 16 hex digits, of canonical JSON where a document is hashed.
std::string hash_hex(std::string_view bytes);
/// A random UUID (version 4).
std::string make_uuid();
/// Now, ISO 8601 in UTC with milliseconds.
std::string now_iso8601();

}  // namespace nsa
