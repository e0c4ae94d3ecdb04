#include "foreign.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/plan.hpp"
#include "times.hpp"
#include "tree.hpp"

namespace nsa::exchange {
namespace {

constexpr std::size_t kMostCoordinates = 32;  // of a point (variant.schema.json)
constexpr std::size_t kLongestName = 256;
constexpr const char* kCompressed = "compressed_len";

std::string names_of(const Record& record) {
  std::string names;
  for (const auto& [name, value] : record.params) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "no parameters" : names.substr(0, 300);
}

const std::string& param_of(const Record& record, const std::string& name,
                            const std::string& where) {
  for (const auto& [key, value] : record.params) {
    if (key == name) return value;
  }
  throw InputError(where + ": has no parameter '" + name + "'; it has " + names_of(record));
}

void require_mapping(const Mapping& mapping, const Record& record, const std::string& where) {
  if (mapping.stage && !(mapping.axes.empty() && mapping.fixed.empty())) return;
  throw InputError(where +
                   ": says nothing of NSA; say what was measured with --stage NAME and "
                   "--axis seq_len=PARAMETER (it has " +
                   names_of(record) + ")");
}

/// Tokens of which exactly `compressed` compressed tokens are made, the fewest.
std::string tokens_of_compressed(const Problem& p, const std::string& compressed,
                                 const std::string& where) {
  const double count = parse_number(compressed, where + ": compressed_len");
  if (!(count >= 1 && count < 0x1p31))
    throw InputError(where + ": compressed_len: '" + compressed.substr(0, 40) +
                     "' is not a number of compressed tokens");
  return std::to_string((static_cast<std::int64_t>(count) - 1) * p.geometry.cmp_stride +
                        p.geometry.cmp_block);
}

void set(Problem& problem, const std::string& axis, const std::string& value,
         const std::string& where) {
  try {
    if (axis == kCompressed) {
      tuner::set_axis(problem, "seq_len", tokens_of_compressed(problem, value, where));
    } else {
      tuner::set_axis(problem, axis, value);
    }
  } catch (const InputError& error) {
    throw InputError(where + ": " + error.what());
  }
}

Problem problem_of(const Record& record, const Mapping& mapping, const std::string& where) {
  Problem problem;
  for (const auto& [axis, value] : mapping.fixed) set(problem, axis, value, where);
  if (problem.phase == Phase::decode) problem.seq_lens.assign(problem.seq_lens.size(), 1);
  for (const auto& [axis, name] : mapping.axes)
    set(problem, axis, param_of(record, name, where), where);
  require_valid(problem, where);
  return problem;
}

bool is_coordinate(const std::string& value) {
  return !value.empty() && value.size() < 19 &&
         std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isdigit(c); });
}

/// The subject or the parameter that the user named; of the other parameters whole numbers are
/// coordinates, and words are part of the name.
VariantId variant_of(const Record& record, const Mapping& mapping, const std::string& where) {
  VariantId id{{*mapping.stage}, word_of(record.subject), {}};
  if (mapping.variant) id.name = word_of(param_of(record, *mapping.variant, where));
  std::set<std::string> used;
  for (const auto& [axis, name] : mapping.axes) used.insert(name);
  if (mapping.variant) used.insert(*mapping.variant);
  for (const auto& [name, value] : record.params) {
    if (used.contains(name)) continue;
    if (is_coordinate(value) && id.point.size() < kMostCoordinates) {
      id.point.emplace_back(word_of(name), std::stoll(value));
    } else if (!value.empty()) {
      id.name += "-" + word_of(value);
    }
  }
  id.name.resize(std::min(id.name.size(), kLongestName));
  return id;
}

std::string assumptions(const Mapping& mapping) {
  std::string set;
  for (const auto* list : {&mapping.axes, &mapping.fixed}) {
    for (const auto& [axis, value] : *list) set += (set.empty() ? "" : ", ") + axis;
  }
  return "of the problem the file and the flags say " + set +
         "; the rest are defaults (12/2 heads of 64, l32 d16 l'64 n16 w512, fp32, prefill)";
}

}  // namespace

std::string word_of(const std::string& text) {
  std::string word = text.substr(0, kLongestName);
  for (char& c : word) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') c = '_';
  }
  return word.empty() ? "unnamed" : word;
}

Backend backend_of(const std::string& uuid, Timer timer) {
  if (uuid.starts_with("CPU-")) return Backend::cpu;
  if (uuid.starts_with("GPU-") || uuid.starts_with("MIG-")) return Backend::cuda;
  return timer == Timer::host ? Backend::cpu : Backend::cuda;
}

Device named_device(const std::string& name, Backend backend) {
  Device device;
  device.id = backend == Backend::cuda ? "cuda:0" : "cpu";
  device.backend = backend;
  device.name = name.empty() ? "unknown" : name.substr(0, 1024);
  device.uuid = "named-" + hash_hex(device.name);
  return device;
}

Device device_of(const RecordSource& source, const Mapping& mapping) {
  return named_device(mapping.device.value_or(source.device), source.backend);
}

Measurement measured_row(const Record& record, const RecordSource& source, const Device& device) {
  Measurement row;
  row.executor = source.executor;
  row.placement = {{"", device.uuid}};
  row.outcome = record.outcome;
  row.reason = record.reason;
  row.verification = record.verification;
  row.timer = record.timer;
  row.cold = record.cold;
  row.measured_at = record.measured_at;
  if (row.outcome != Outcome::ok) return row;
  if (std::find(record.device_ns.begin(), record.device_ns.end(), 0) != record.device_ns.end() ||
      record.device_ns.empty()) {
    row.outcome = Outcome::bad_reply;
    row.reason = "the file has no time, or one of zero";
    return row;
  }
  std::vector<Sample> samples;
  for (const std::int64_t ns : record.device_ns) samples.push_back({0, ns, ns, {}});
  set_samples(row, std::move(samples));
  row.note = record.statistic;
  return row;
}

Imported rows_of_records(const std::vector<Record>& records, const RecordSource& source,
                         const Input& input) {
  Imported imported;
  const Device device = device_of(source, input.mapping);
  imported.devices = {device};
  for (const Record& record : records) {
    require_mapping(input.mapping, record, input.where);
    Measurement row = measured_row(record, source, device);
    row.problem = problem_of(record, input.mapping, input.where);
    row.variant = variant_of(record, input.mapping, input.where);
    imported.rows.push_back(std::move(row));
  }
  if (records.empty()) throw InputError(input.where + ": holds no result");
  imported.notes.push_back(assumptions(input.mapping));
  return imported;
}

}  // namespace nsa::exchange
