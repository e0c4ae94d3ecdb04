// Kernel Tuner's cache files. Times are in milliseconds.
#include <algorithm>

#include <fmt/format.h>

#include "foreign.hpp"
#include "formats.hpp"
#include "group.hpp"
#include "nsa/schemas/error.hpp"
#include "own.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

constexpr double kFailedTime = 1e20;  // ms: how older versions wrote that a configuration failed

/// A cache that was not closed, as Kernel Tuner repairs it: a trailing comma goes, braces come.
std::string closed(std::string_view text) {
  const auto last = text.find_last_not_of(" \t\r\n");
  std::string whole(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
  const std::string_view ends[] = {"}\n}", "}\r\n}", "}}}"};
  if (std::ranges::any_of(ends, [&](std::string_view end) { return whole.ends_with(end); }) ||
      Tree::accept(whole))
    return whole;
  if (whole.ends_with(',')) whole.pop_back();
  return whole + "}\n}";
}

/// Names of Kernel Tuner for what is no time.
std::string_view error_word(const Group& group) {
  const Outcome outcome = group.first().outcome;
  if (outcome == Outcome::not_built) return "CompilationFailedConfig";
  if (outcome == Outcome::unsupported) return "InvalidConfig";
  return outcome == Outcome::ok ? "ErrorConfig" : "RuntimeFailedConfig";
}

Outcome outcome_of_word(const std::string& word, const std::string& where) {
  if (word == "InvalidConfig") return Outcome::unsupported;
  if (word == "CompilationFailedConfig") return Outcome::not_built;
  if (word == "RuntimeFailedConfig" || word == "ErrorConfig") return Outcome::crashed;
  throw InputError(where + ": time is '" + word.substr(0, 40) + "', no number and no error");
}

double sum(const std::vector<std::int64_t>& times) {
  double all = 0;
  for (const std::int64_t ns : times) all += static_cast<double>(ns) / kMillisecond;
  return all;
}

Tree entry_of(const Group& group) {
  Tree entry = Tree::object();
  for (const auto& [name, value] : parameters(group.first())) entry[name] = parameter_value(value);
  const std::vector<std::int64_t> times = times_of(group);
  const std::optional<double> middle = middle_ns(group);
  entry["time"] = middle ? Tree(*middle / kMillisecond) : Tree(error_word(group));
  entry["times"] = milliseconds(times);
  entry["benchmark_time"] = sum(times);
  for (const char* key : {"compile_time", "verification_time", "strategy_time", "framework_time"})
    entry[key] = 0;
  entry["timestamp"] = group.first().measured_at;
  entry[kOwnKey] = own_list(group);
  return entry;
}

std::string cache_key(const Measurement& row) {
  std::string key;
  for (const auto& [name, value] : parameters(row)) key += (key.empty() ? "" : ",") + value;
  return key;
}

/// Values of each parameter as a JSON object; its order has to be that of the keys.
std::string tune_params(const std::vector<Group>& groups, const Tree& keys) {
  Tree all = Tree::object();
  for (const Group& group : groups) {
    for (const auto& [name, text] : parameters(group.first())) {
      const Tree value = parameter_value(text);
      Tree& values = all[name];
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
  }
  std::string text;
  for (const Tree& key : keys)
    text += (text.empty() ? "" : ", ") + dump(key) + ": " + dump(all[key.get<std::string>()]);
  return "{" + text + "}";
}

std::string stages_of(const std::vector<Group>& groups) {
  std::string name;
  for (const Group& group : groups) {
    const std::string here = stages_text(group.first().variant);
    if (!name.empty() && name != here) return "nsa";
    name = here;
  }
  return name.empty() ? "nsa" : name;
}

Record record_of(const Tree& entry, const std::vector<std::string>& keys, std::string subject,
                 const std::string& where) {
  Record record{.subject = std::move(subject)};
  for (const std::string& key : keys)
    record.params.emplace_back(key, scalar_text(member(entry, key.c_str(), where)));
  record.measured_at = text_or(entry, "timestamp", "");
  const Tree& time =
      find(entry, "__error__") ? *find(entry, "__error__") : member(entry, "time", where);
  if (time.is_string() || number_of(time, where + ": time") >= kFailedTime) {
    record.reason = time.is_string() ? time.get<std::string>() : "RuntimeFailedConfig";
    record.outcome = outcome_of_word(record.reason, where);
    return record;
  }
  if (const Tree* times = find(entry, "times"); times && !times->empty()) {
    record.device_ns = nanoseconds_of(*times, kMillisecond, where + ": times");
  } else {
    record.device_ns = {nanoseconds(number_of(time, where), kMillisecond, where + ": time")};
    record.statistic = "one sample: Kernel Tuner's `time`, the mean of its runs";
  }
  return record;
}

std::vector<std::string> texts_of(const Tree& list, const std::string& where) {
  std::vector<std::string> texts;
  for (const Tree& value : list) {
    if (!value.is_string()) throw InputError(where + ": a name is not text");
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

}  // namespace

Bundle write_kernel_tuner(const Results& results, const std::string&) {
  const std::vector<Group> groups = group_rows(results.rows);
  Tree keys = Tree::array();
  if (!groups.empty()) {
    for (const auto& [name, value] : parameters(groups[0].first())) keys.push_back(name);
  }
  // One entry a line and the two braces on lines of their own: so Kernel Tuner finds the end.
  std::string text = fmt::format(
      "{{\n\"device_name\": {},\n\"kernel_name\": {},\n\"problem_size\": [1],\n"
      "\"tune_params_keys\": {},\n\"tune_params\": {},\n\"objective\": \"time\",\n\"{}\": {},\n"
      "\"cache\": {{",
      dump(one_device(results, "kernel_tuner")), dump(stages_of(groups)), dump(keys),
      tune_params(groups, keys), kOwnKey, dump(own_header(results)));
  const char* separator = "\n";
  for (const Group& group : groups) {
    text += separator + dump(cache_key(group.first())) + ": " + dump(entry_of(group));
    separator = ",\n";
  }
  return {text + "}\n}\n", {}};
}

Imported read_kernel_tuner(const Input& input) {
  const Tree file = parse_tree(closed(input.text), input.where);
  const Tree& cache = object_at(file, "cache", input.where);
  if (const Tree* own = find(file, kOwnKey))
    return rows_of_entries(*own, cache, "/times", input.where);
  const auto keys = texts_of(list_at(file, "tune_params_keys", input.where), input.where);
  const RecordSource source{"kernel_tuner", text_or(file, "device_name", ""), Backend::cuda};
  const std::string subject = text_at(file, "kernel_name", input.where);
  std::vector<Record> records;
  for (const auto& [key, entry] : cache.items())
    records.push_back(record_of(entry, keys, subject, input.where));
  return rows_of_records(records, source, input);
}

}  // namespace nsa::exchange
