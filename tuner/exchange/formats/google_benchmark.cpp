// Google Benchmark's JSON. Every sample is a repetition: real_time is the time of the row's timer,
// cpu_time what the host saw, both in nanoseconds.
#include <algorithm>

#include "foreign.hpp"
#include "formats.hpp"
#include "group.hpp"
#include "nsa/schemas/error.hpp"
#include "own.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

std::string benchmark_name(const Measurement& row) {
  std::string name = stages_text(row.variant) + "/" + name_text(row.variant);
  for (const auto& [key, text] : parameters(row)) {
    if (key != "stages" && key != "variant") name += "/" + key + ":" + text;
  }
  return name;
}

Tree repetition(const std::string& name, std::size_t index, std::size_t of) {
  return {{"name", name},
          {"run_name", name},
          {"run_type", "iteration"},
          {"repetitions", std::max<std::size_t>(of, 1)},
          {"repetition_index", index},
          {"threads", 1},
          {"iterations", 1},
          {"real_time", 0.0},
          {"cpu_time", 0.0},
          {"time_unit", "ns"}};
}

/// A repetition for each sample, the first of which has our own fields.
void add_group(Tree& benchmarks, const Group& group) {
  const std::string name = benchmark_name(group.first());
  const std::size_t samples = times_of(group).size();
  std::size_t index = 0;
  for (const Measurement* row : group.rows) {
    for (const Sample& sample : row->samples) {
      Tree entry = repetition(name, index, samples);
      entry["real_time"] = static_cast<double>(sample.device_ns);
      entry["cpu_time"] = static_cast<double>(sample.host_ns);
      if (index++ == 0) entry[kOwnKey] = own_list(group);
      benchmarks.push_back(std::move(entry));
    }
  }
  if (samples > 0) return;
  Tree entry = repetition(name, 0, 1);
  entry["error_occurred"] = true;
  entry["error_message"] = failure_text(group);
  entry[kOwnKey] = own_list(group);
  benchmarks.push_back(std::move(entry));
}

double unit_of(const Tree& entry, const std::string& where) {
  const std::string unit = text_or(entry, "time_unit", "ns");
  if (unit == "ns") return 1;
  if (unit == "us") return 1e3;
  if (unit == "ms") return kMillisecond;
  if (unit == "s") return kSecond;
  throw InputError(where + ": time_unit '" + unit.substr(0, 40) + "' is not known");
}

std::int64_t real_time(const Tree& entry, const std::string& where) {
  return nanoseconds(number_at(entry, "real_time", where), unit_of(entry, where),
                     where + ": real_time");
}

bool failed(const Tree& entry) {
  const Tree* error = find(entry, "error_occurred");
  return error && *error == true;
}

Imported own_rows(const Tree& file, const Tree& header, const std::string& where) {
  Imported imported = heads_of_own(header, where);
  const Tree& list = list_at(file, "benchmarks", where);
  for (std::size_t i = 0; i < list.size();) {
    const Tree& own = list_at(list[i], kOwnKey, where);
    std::vector<std::int64_t> times;
    do {
      if (!failed(list[i])) times.push_back(real_time(list[i], where));
      ++i;
    } while (i < list.size() && !find(list[i], kOwnKey));
    for (Measurement& row : rows_of_own(own, times, where)) imported.rows.push_back(std::move(row));
  }
  return imported;
}

/// "BM_f/1024/n:64" as the subject BM_f with arg0 = 1024 and n = 64.
Record named_record(const std::string& name) {
  Record record;
  std::size_t at = name.find('/');
  record.subject = name.substr(0, at);
  for (std::size_t number = 0; at != std::string::npos; ++number) {
    const std::size_t end = name.find('/', at + 1);
    const std::string part = name.substr(at + 1, end - at - 1);
    const std::size_t colon = part.find(':');
    if (colon == std::string::npos) {
      record.params.emplace_back("arg" + std::to_string(number), part);
    } else {
      record.params.emplace_back(part.substr(0, colon), part.substr(colon + 1));
    }
    at = end;
  }
  return record;
}

void take_repetition(Record& record, const Tree& entry, const std::string& where) {
  if (failed(entry)) {
    record.outcome = Outcome::crashed;
    record.reason = text_or(entry, "error_message", "error_occurred");
    return;
  }
  record.device_ns.push_back(real_time(entry, where));
  if (const Tree* n = find(entry, "iterations"); n && n->is_number() && n->get<double>() > 1)
    record.statistic = "each sample is the mean of " + n->dump() + " iterations";
}

std::vector<Record> foreign_records(const Tree& list, const std::string& where) {
  std::vector<std::string> names;  // in the order of the file
  std::map<std::string, Record> records, medians;
  for (const Tree& entry : list) {
    const std::string name = text_or(entry, "run_name", text_at(entry, "name", where));
    if (!records.contains(name)) {
      names.push_back(name);
      records[name] = medians[name] = named_record(name);
    }
    if (text_or(entry, "run_type", "iteration") == "iteration") {
      take_repetition(records[name], entry, where);
    } else if (text_or(entry, "aggregate_name", "") == "median") {
      medians[name].device_ns = {real_time(entry, where)};
      medians[name].statistic = "one sample: the median of the repetitions";
    }
  }
  std::vector<Record> all;
  for (const std::string& name : names) {
    const Record& raw = records[name];
    const bool only_aggregates = raw.device_ns.empty() && raw.outcome == Outcome::ok;
    all.push_back(only_aggregates ? medians[name] : raw);
  }
  return all;
}

}  // namespace

Bundle write_google_benchmark(const Results& results, const std::string&) {
  Tree benchmarks = Tree::array();
  for (const Group& group : group_rows(results.rows)) add_group(benchmarks, group);
  const Tree file{{"context",
                   {{"date", results.rows.empty() ? "" : results.rows[0].measured_at},
                    {"host_name", results.rows.empty() || results.rows[0].placement.empty()
                                      ? ""
                                      : results.rows[0].placement[0].host},
                    {"executable", "nsatune"},
                    {"num_cpus", 0},
                    {"mhz_per_cpu", 0},
                    {"cpu_scaling_enabled", false},
                    {"caches", Tree::array()},
                    {"load_avg", Tree::array()},
                    {"library_build_type", "release"}}},
                  {"benchmarks", benchmarks},
                  {kOwnKey, own_header(results)}};
  return {file.dump(2, ' ', false, Tree::error_handler_t::replace) + "\n", {}};
}

Imported read_google_benchmark(const Input& input) {
  const Tree file = parse_tree(input.text, input.where);
  if (const Tree* own = find(file, kOwnKey)) return own_rows(file, *own, input.where);
  const auto records = foreign_records(list_at(file, "benchmarks", input.where), input.where);
  const Tree* context = find(file, "context");
  const std::string host = context ? text_or(*context, "host_name", "") : "";
  return rows_of_records(records, {"google_benchmark", host, Backend::cpu}, input);
}

}  // namespace nsa::exchange
