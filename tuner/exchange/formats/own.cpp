#include "own.hpp"

#include <limits>
#include <set>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

/// Objects are sorted here, and the order of coordinates is part of a variant: a list of pairs.
Tree point_list(const Point& point) {
  Tree list = Tree::array();
  for (const auto& [name, value] : point) list.push_back(Tree::array({name, value}));
  return list;
}

Json point_object(const Tree& list, const std::string& where) {
  Json point = Json::object();
  if (!list.is_array()) throw InputError(where + ": a point is a list of pairs");
  for (const Tree& pair : list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string())
      throw InputError(where + ": a point is a list of pairs");
    point[pair[0].get<std::string>()] = integer_of(pair[1], where);
  }
  return point;
}

void put_samples(Tree& own, const std::vector<Sample>& samples) {
  own["samples_n"] = samples.size();
  Tree starts = Tree::array(), host = Tree::array(), cycles = Tree::array();
  bool any_cycles = false;
  for (const Sample& sample : samples) {
    starts.push_back(sample.start_ns);
    host.push_back(sample.host_ns);
    cycles.push_back(sample.cycles ? Tree(*sample.cycles) : Tree(nullptr));
    any_cycles = any_cycles || sample.cycles;
  }
  own["start_ns"] = std::move(starts);
  own["host_ns"] = std::move(host);
  if (any_cycles) own["cycles"] = std::move(cycles);
}

std::vector<Sample> samples_of(const Tree& own, std::span<const std::int64_t> device_ns,
                               const std::string& where) {
  const Tree& starts = list_at(own, "start_ns", where);
  const Tree& host = list_at(own, "host_ns", where);
  const Tree* cycles = find(own, "cycles");
  const std::size_t n = device_ns.size();
  if (starts.size() != n || host.size() != n || (cycles && cycles->size() != n))
    throw InputError(where + ": start_ns, host_ns and cycles must have one value for each sample");
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < n; ++i) {
    Sample sample{integer_of(starts[i], where), device_ns[i], integer_of(host[i], where), {}};
    if (cycles && !(*cycles)[i].is_null()) sample.cycles = integer_of((*cycles)[i], where);
    if (sample.host_ns < 0 || sample.cycles.value_or(0) < 0)
      throw InputError(where + ": has a sample below 0 ns");
    samples.push_back(sample);
  }
  return samples;
}

Measurement row_of(Tree own, std::span<const std::int64_t> device_ns, const std::string& where) {
  std::vector<Sample> samples = samples_of(own, device_ns, where);
  for (const char* key : {"start_ns", "host_ns", "cycles"}) own.erase(key);
  Json document = own;
  document["variant"]["point"] =
      point_object(member(member(own, "variant", where), "point", where), where);
  validate_json(document, "measurement", where);
  Measurement row;
  from_json(document, row);
  row.samples = std::move(samples);
  complete_row(row, where);
  return row;
}

Capability library_of(const Json& entry) {
  return {entry.at("library").get<std::string>(), entry.at("usable").get<bool>(),
          entry.value("version", ""), entry.value("reason", "")};
}

RunHead run_head(const Tree& entry, const std::string& where) {
  const Json run = member(entry, "run", where);
  validate_json(run, "run", where);
  RunHead head;
  from_json(run, head.run);
  require_consistent(head.run, where);
  for (const Tree& one : list_at(entry, "libraries", where)) {
    const Json library = one;
    validate_json(library, "capability", where + ": libraries");
    head.libraries.push_back(library_of(library));
  }
  return head;
}

}  // namespace

void require_consistent(const Run& run, const std::string& where) {
  if ((run.state == RunState::open) == run.ended_at.has_value())
    throw InputError(where + ": a run has an end if and only if it is not open");
  std::set<std::string> keys;
  for (const EnvironmentFact& fact : run.environment.facts) {
    if (!keys.insert(fact.key).second)
      throw InputError(where + ": the fact " + fact.key.substr(0, 80) + " appears twice");
  }
}

void complete_row(Measurement& row, const std::string& where) {
  require_valid(row.problem, where);
  if (row.id.empty() || row.job_key.empty()) throw InputError(where + ": has a row without id");
  // JSON has no infinity; the largest number stands for it (nsa/schemas/fields/json.hpp).
  if (row.worst_row_error == std::numeric_limits<double>::max())
    row.worst_row_error = std::numeric_limits<double>::infinity();
  if (!row.samples.empty()) set_samples(row, std::move(row.samples));
}

void stand_in_for_samples(Measurement& row, const std::string& where) {
  if (!row.samples.empty() || row.samples_n == 0) return;
  if (!row.median_ns || !(*row.median_ns > 0))
    throw InputError(where + ": has samples and no time in median_ns");
  if (row.samples_n > 1) {
    const std::string what = "one sample: the median of " + std::to_string(row.samples_n);
    row.note = row.note.empty() ? what : what + "; " + row.note;
  }
  const std::int64_t ns = nanoseconds(*row.median_ns, 1, where + ": median_ns");
  set_samples(row, {{.start_ns = 0, .device_ns = ns, .host_ns = ns, .cycles = {}}});
}

Tree own_fields(const Measurement& row) {
  Json document = row;
  document.erase("samples");
  if (!row.samples.empty()) {
    document.erase("median_ns");
    document.erase("mad_ns");
  }
  Tree own = document;
  own["variant"]["point"] = point_list(row.variant.point);
  put_samples(own, row.samples);
  return own;
}

std::vector<Measurement> rows_of_own(const Tree& list, std::span<const std::int64_t> device_ns,
                                     const std::string& where) {
  if (!list.is_array()) throw InputError(where + ": nsatune is not a list");
  std::vector<Measurement> rows;
  for (const Tree& own : list) {
    const std::int64_t n = integer_of(member(own, "samples_n", where), where + ": samples_n");
    if (n < 0 || static_cast<std::size_t>(n) > device_ns.size())
      throw InputError(where + ": has fewer times than its rows have samples");
    rows.push_back(row_of(own, device_ns.first(static_cast<std::size_t>(n)), where));
    device_ns = device_ns.subspan(static_cast<std::size_t>(n));
  }
  if (!device_ns.empty()) throw InputError(where + ": has more times than its rows have samples");
  return rows;
}

Tree own_header(const Results& results) {
  Json devices = Json::array();
  for (const Device& device : results.devices) devices.push_back(device);
  Json runs = Json::array();
  for (const auto& [run, libraries] : results.runs)
    runs.push_back({{"run", run}, {"libraries", libraries}});
  return {{"version", 1}, {"devices", Tree(devices)}, {"runs", Tree(runs)}};
}

Imported heads_of_own(const Tree& header, const std::string& where) {
  if (integer_of(member(header, "version", where), where + ": version") != 1)
    throw InputError(where + ": was exported by a newer version; use that one");
  Imported heads;
  for (const Tree& entry : list_at(header, "devices", where)) {
    const Json document = entry;
    validate_json(document, "device", where + ": devices");
    from_json(document, heads.devices.emplace_back());
  }
  if (!find(header, "runs")) return heads;
  for (const Tree& entry : list_at(header, "runs", where))
    heads.runs.push_back(run_head(entry, where + ": runs"));
  return heads;
}

Imported rows_of_entries(const Tree& header, const Tree& entries, const std::string& times,
                         const std::string& where) {
  Imported imported = heads_of_own(header, where);
  const Tree::json_pointer pointer(times);
  for (const Tree& entry : entries) {
    if (!entry.is_object() || !entry.contains(pointer))
      throw InputError(where + ": an entry has no " + times);
    const auto ns = nanoseconds_of(entry.at(pointer), kMillisecond, where + ": " + times);
    for (Measurement& row : rows_of_own(list_at(entry, kOwnKey, where), ns, where))
      imported.rows.push_back(std::move(row));
  }
  return imported;
}

std::string one_device(const Results& results, const char* format) {
  std::string uuid;
  for (const Measurement& row : results.rows) {
    const std::string here = row.placement.empty() ? "" : row.placement[0].device_uuid;
    if (!uuid.empty() && here != uuid)
      throw InputError(
          std::string("export ") + format +
          ": rows of several devices, and the format holds one; narrow them with --run");
    uuid = here;
  }
  for (const Device& device : results.devices) {
    if (device.uuid == uuid) return device.name;
  }
  return "unknown";
}

}  // namespace nsa::exchange
