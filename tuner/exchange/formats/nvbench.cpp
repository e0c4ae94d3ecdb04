// NVBench's JSON 1.0.0. A state holds summaries of tagged values, all of them texts; the times of
// its samples lie beside the file, in seconds as little-endian float32.
#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "foreign.hpp"
#include "formats.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/text.hpp"
#include "nvbench_summaries.hpp"
#include "own.hpp"
#include "times.hpp"

namespace nsa::exchange {
namespace {

static_assert(std::endian::native == std::endian::little, "sidecars are little-endian");

std::string sidecar_of(const std::vector<std::int64_t>& times) {
  std::string bytes(times.size() * sizeof(float), '\0');
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto seconds = static_cast<float>(static_cast<double>(times[i]) / kSecond);
    std::memcpy(&bytes[i * sizeof(float)], &seconds, sizeof(float));
  }
  return bytes;
}

std::vector<std::int64_t> times_of_sidecar(const std::string& bytes, std::int64_t size,
                                           const std::string& where) {
  if (size < 0 || bytes.size() % sizeof(float) != 0 ||
      bytes.size() / sizeof(float) != static_cast<std::size_t>(size))
    throw InputError(where + ": has another number of samples than its summary says");
  std::vector<std::int64_t> times;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    float seconds = 0;
    std::memcpy(&seconds, &bytes[at], sizeof(float));
    times.push_back(nanoseconds(seconds, kSecond, where));
  }
  return times;
}

/// Only what lies beside the file is read: no absolute path, no way up.
void require_beside(const std::string& name, const std::string& where) {
  if (name.empty() || name.front() == '/' || name.find("..") != std::string::npos ||
      name.find('\0') != std::string::npos)
    throw InputError(where + ": names the sidecar '" + name.substr(0, 80) +
                     "', which is not beside it");
}

std::vector<std::int64_t> samples_of(const Tree& state, const Input& input) {
  const Tree* summary = summary_of(state, kSampleTimes);
  if (!summary) return {};
  const std::string name = datum(*summary, "filename", input.where);
  require_beside(name, input.where);
  const double size = parse_number(datum(*summary, "size", input.where), input.where);
  if (!(size >= 0 && size < 0x1p31)) throw InputError(input.where + ": size of " + name);
  return times_of_sidecar(input.sidecar(name), static_cast<std::int64_t>(size),
                          input.where + ": " + name);
}

Tree device_tree(const Device& device, std::size_t id) {
  return {{"id", id},
          {"name", device.name},
          {"sm_version", device.compute_capability.value_or(0) * 10},
          {"number_of_sms", device.multiprocessors.value_or(0)},
          {"sm_default_clock_rate", device.max_clock_mhz.value_or(0) * 1e6},
          {"global_memory_size", device.memory_bytes.value_or(0)},
          {"l2_cache_size", device.l2_bytes.value_or(0)},
          {"ecc_state", device.ecc.value_or(false)}};
}

std::size_t device_index(const Results& results, const Measurement& row) {
  const std::string uuid = row.placement.empty() ? "" : row.placement[0].device_uuid;
  const auto at = std::find_if(results.devices.begin(), results.devices.end(),
                               [&](const Device& d) { return d.uuid == uuid; });
  return static_cast<std::size_t>(at - results.devices.begin());
}

Tree axis_values(const Measurement& row) {
  Tree values = Tree::array();
  for (const auto& [name, text] : parameters(row)) {
    const bool number = parameter_value(text).is_number();
    values.push_back({{"name", name}, {"type", number ? "int64" : "string"}, {"value", text}});
  }
  return values;
}

std::string state_name(const Measurement& row, std::size_t device) {
  std::string name = fmt::format("Device={}", device);
  for (const auto& [key, text] : parameters(row)) name += " " + key + "=" + text;
  return name;
}

Tree state_of(const Group& group, std::size_t device, const std::string& sidecar) {
  const std::vector<std::int64_t> times = times_of(group);
  Tree state{{"name", state_name(group.first(), device)},
             {"min_samples", 1},
             {"skip_time", -1.0},
             {"timeout", -1.0},
             {"device", device},
             {"type_config_index", 0},
             {"axis_values", axis_values(group.first())},
             {"summaries", summaries_of(group, sidecar)},
             {"is_skipped", times.empty()}};
  if (times.empty()) state["skip_reason"] = failure_text(group);
  return state;
}

/// Values of an axis over all states, each once.
Tree axes_of(const std::vector<const Group*>& groups) {
  Tree axes = Tree::array();
  for (const Group* group : groups) {
    const auto all = parameters(group->first());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (axes.size() <= i)
        axes.push_back(
            {{"name", all[i].first}, {"type", "string"}, {"flags", ""}, {"values", Tree::array()}});
      const Tree value{
          {"input_string", all[i].second}, {"description", ""}, {"value", all[i].second}};
      Tree& values = axes[i]["values"];
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
  }
  return axes;
}

Tree meta() {
  const auto version = [](int major, const char* text) {
    return Tree{{"major", major}, {"minor", 0}, {"patch", 0}, {"string", text}};
  };
  return {{"argv", Tree::array({"nsatune", "export", "nvbench"})},
          {"version", {{"json", version(1, "1.0.0")}, {"nvbench", version(0, "0.0.0")}}}};
}

Record record_of(const Tree& state, const std::string& benchmark, const Input& input) {
  Record record{.subject = benchmark, .timer = Timer::events, .cold = true};
  for (const Tree& value : list_at(state, "axis_values", input.where))
    record.params.emplace_back(text_at(value, "name", input.where),
                               scalar_text(member(value, "value", input.where)));
  if (const Tree* skipped = find(state, "is_skipped"); skipped && *skipped == true) {
    record.outcome = Outcome::unsupported;
    record.reason = "skipped: " + text_or(state, "skip_reason", "no reason given");
    return record;
  }
  record.device_ns = samples_of(state, input);
  if (record.device_ns.empty()) take_statistic(record, state, input.where);
  return record;
}

/// Each benchmark's states, of the device with that number in the file.
void add_records(const Tree& benchmark, std::map<std::int64_t, std::vector<Record>>& by_device,
                 const Input& input) {
  const std::string name = text_at(benchmark, "name", input.where);
  for (const Tree& state : list_at(benchmark, "states", input.where)) {
    const std::int64_t device =
        integer_of(member(state, "device", input.where), input.where + ": device");
    by_device[device].push_back(record_of(state, name, input));
  }
}

std::string device_name(const Tree& file, std::int64_t id) {
  const Tree* devices = find(file, "devices");
  if (!devices || !devices->is_array()) return "";
  for (const Tree& device : *devices) {
    const Tree* number = find(device, "id");
    if (number && *number == id) return text_or(device, "name", "");
  }
  return "";
}

Imported foreign_rows(const Tree& file, const Input& input) {
  std::map<std::int64_t, std::vector<Record>> by_device;
  for (const Tree& benchmark : list_at(file, "benchmarks", input.where))
    add_records(benchmark, by_device, input);
  Imported all;
  for (const auto& [id, records] : by_device) {
    Imported part =
        rows_of_records(records, {"nvbench", device_name(file, id), Backend::cuda}, input);
    all.devices.insert(all.devices.end(), part.devices.begin(), part.devices.end());
    all.rows.insert(all.rows.end(), part.rows.begin(), part.rows.end());
    all.notes = part.notes;
  }
  if (all.rows.empty()) throw InputError(input.where + ": holds no result");
  return all;
}

Imported own_rows(const Tree& file, const Tree& header, const Input& input) {
  Imported imported = heads_of_own(header, input.where);
  for (const Tree& benchmark : list_at(file, "benchmarks", input.where)) {
    for (const Tree& state : list_at(benchmark, "states", input.where)) {
      const Tree* own = summary_of(state, kOwnRows);
      if (!own) throw InputError(input.where + ": a state has no summary " + kOwnRows);
      const Tree list = parse_tree(datum(*own, "rows", input.where), input.where + ": rows");
      for (Measurement& row : rows_of_own(list, samples_of(state, input), input.where))
        imported.rows.push_back(std::move(row));
    }
  }
  return imported;
}

}  // namespace

Bundle write_nvbench(const Results& results, const std::string& file_name) {
  Bundle bundle;
  // JSON holds no name that is not UTF-8, and has to say where the sidecars lie.
  const std::string folder = visible(file_name) + "-bin";
  const std::vector<Group> groups = group_rows(results.rows);
  std::map<std::string, std::vector<const Group*>> benchmarks;
  for (const Group& group : groups)
    benchmarks[stages_text(group.first().variant)].push_back(&group);
  Tree list = Tree::array();
  for (const auto& [name, members] : benchmarks) {
    Tree benchmark{{"name", name},
                   {"index", list.size()},
                   {"min_samples", 1},
                   {"skip_time", -1.0},
                   {"timeout", -1.0},
                   {"axes", axes_of(members)},
                   {"devices", Tree::array()},
                   {"states", Tree::array()}};
    for (std::size_t i = 0; i < results.devices.size(); ++i) benchmark["devices"].push_back(i);
    for (const Group* group : members) {
      const std::string sidecar = fmt::format("{}/{}.bin", folder, bundle.sidecars.size());
      const std::vector<std::int64_t> times = times_of(*group);
      benchmark["states"].push_back(
          state_of(*group, device_index(results, group->first()), times.empty() ? "" : sidecar));
      if (!times.empty()) bundle.sidecars[sidecar] = sidecar_of(times);
    }
    list.push_back(std::move(benchmark));
  }
  Tree devices = Tree::array();
  for (std::size_t i = 0; i < results.devices.size(); ++i)
    devices.push_back(device_tree(results.devices[i], i));
  const Tree file{
      {"meta", meta()}, {"devices", devices}, {"benchmarks", list}, {kOwnKey, own_header(results)}};
  bundle.text = file.dump(2, ' ', false, Tree::error_handler_t::replace) + "\n";
  return bundle;
}

Imported read_nvbench(const Input& input) {
  const Tree file = parse_tree(input.text, input.where);
  const Tree* own = find(file, kOwnKey);
  return own ? own_rows(file, *own, input) : foreign_rows(file, input);
}

}  // namespace nsa::exchange
