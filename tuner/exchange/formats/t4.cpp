// T4: the community's schema of tuning results, 1.0.0, as several autotuners write it.
#include <fmt/format.h>

#include "foreign.hpp"
#include "formats.hpp"
#include "group.hpp"
#include "nsa/schemas/error.hpp"
#include "own.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

// ---- T4 ----

std::string_view invalidity_of(const Group& group) {
  if (middle_ns(group)) return "correct";
  const Measurement& row = group.first();
  if (row.outcome == Outcome::ok)
    return row.verification == Verification::wrong_result ? "correctness" : "runtime";
  if (row.outcome == Outcome::timeout) return "timeout";
  if (row.outcome == Outcome::not_built) return "compile";
  return row.outcome == Outcome::unsupported ? "constraints" : "runtime";
}

Tree t4_result(const Group& group) {
  Tree configuration = Tree::object();
  for (const auto& [name, value] : parameters(group.first()))
    configuration[name] = parameter_value(value);
  const auto times = times_of(group);
  Tree result{{"timestamp", group.first().measured_at},
              {"configuration", configuration},
              {"objectives", Tree::array({"time"})},
              {"times",
               {{"runtimes", milliseconds(times)},
                {"framework", 0},
                {"search_algorithm", 0},
                {"validation", 0}}},
              {"invalidity", invalidity_of(group)},
              {"correctness", group.first().verification == Verification::verified ? 1 : 0},
              {"measurements", Tree::array()},
              {kOwnKey, own_list(group)}};
  if (const auto middle = middle_ns(group))
    result["measurements"].push_back(
        {{"name", "time"}, {"value", *middle / kMillisecond}, {"unit", "ms"}});
  return result;
}

double unit_of(const std::string& unit, const std::string& where) {
  if (unit.empty() || unit == "ms" || unit == "milliseconds" || unit == "miliseconds")
    return kMillisecond;
  if (unit == "s" || unit == "seconds") return kSecond;
  if (unit == "us" || unit == "microseconds") return 1e3;
  if (unit == "ns" || unit == "nanoseconds") return 1;
  throw InputError(where + ": the unit of time '" + unit.substr(0, 40) + "' is not known");
}

Outcome outcome_of_invalidity(const std::string& word, const std::string& where) {
  if (word == "correct" || word == "correctness") return Outcome::ok;
  if (word == "timeout") return Outcome::timeout;
  if (word == "compile") return Outcome::not_built;
  if (word == "constraints") return Outcome::unsupported;
  if (word == "runtime") return Outcome::crashed;
  throw InputError(where + ": invalidity '" + word.substr(0, 40) + "' is not of T4 1.0.0");
}

void take_measured_time(Record& record, const Tree& result, const std::string& where) {
  const Tree* measurements = find(result, "measurements");
  if (!measurements || !measurements->is_array()) return;
  for (const Tree& measured : *measurements) {
    if (text_or(measured, "name", "") != "time") continue;
    const double unit = unit_of(text_or(measured, "unit", ""), where);
    record.device_ns = {nanoseconds(number_at(measured, "value", where), unit, where)};
    record.statistic = "one sample: the measurement `time` of the file";
  }
}

Record t4_record(const Tree& result, double unit, const std::string& where) {
  Record record{.subject = "configuration"};
  for (const auto& [key, value] : object_at(result, "configuration", where).items())
    record.params.emplace_back(key, scalar_text(value));
  record.measured_at = text_or(result, "timestamp", "");
  const std::string invalidity = text_at(result, "invalidity", where);
  record.outcome = outcome_of_invalidity(invalidity, where);
  if (invalidity == "correctness") record.verification = Verification::wrong_result;
  if (invalidity != "correct") record.reason = "T4: " + invalidity;
  const Tree* runtimes = find(object_at(result, "times", where), "runtimes");
  if (runtimes && !runtimes->empty()) {
    record.device_ns = nanoseconds_of(*runtimes, unit, where + ": runtimes");
  } else {
    take_measured_time(record, result, where);
  }
  return record;
}

}  // namespace

Bundle write_t4(const Results& results, const std::string&) {
  Tree file{{"schema_version", "1.0.0"},
            {"metadata", {{"timeunit", "milliseconds"}, {"device", one_device(results, "t4")}}},
            {kOwnKey, own_header(results)},
            {"results", Tree::array()}};
  for (const Group& group : group_rows(results.rows)) file["results"].push_back(t4_result(group));
  return {dump(file) + "\n", {}};
}

Imported read_t4(const Input& input) {
  const Tree file = parse_tree(input.text, input.where);
  const Tree& results = list_at(file, "results", input.where);
  if (const Tree* own = find(file, kOwnKey))
    return rows_of_entries(*own, results, "/times/runtimes", input.where);
  const std::string version = text_or(file, "schema_version", "1.0.0");
  if (!version.starts_with("1."))
    throw InputError(input.where + ": is T4 " + version.substr(0, 20) + "; 1.0.0 is known");
  const Tree* metadata = find(file, "metadata");
  const double unit = unit_of(metadata ? text_or(*metadata, "timeunit", "") : "", input.where);
  std::vector<Record> records;
  for (const Tree& result : results) records.push_back(t4_record(result, unit, input.where));
  const RecordSource source{"t4", metadata ? text_or(*metadata, "device", "") : "", Backend::cuda};
  return rows_of_records(records, source, input);
}

}  // namespace nsa::exchange
