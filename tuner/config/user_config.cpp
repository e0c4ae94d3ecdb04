#include "nsa/tuner/user_config.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <map>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/visible.hpp"
#include "nsa/tuner/yaml_text.hpp"

namespace nsa::tuner {
namespace {

constexpr std::int64_t kByteVocabulary = 256;  // the users' 125M model reads bytes

/// What was found for a key: its text and its line.
struct Entry {
  std::string text;
  int line = 0;
};
using Entries = std::map<std::string, Entry>;  // "model.dim" -> entry

/// A key that we read, and the field of the problem that it sets.
struct IntegerKey {
  std::string_view key;
  std::string_view pointer;  // in messages of find_violation
  std::int64_t& (*field)(Problem&);
};

constexpr std::array kIntegerKeys{
    IntegerKey{"model.dim", "/model_dim",
               [](Problem& p) -> std::int64_t& { return p.model.model_dim; }},
    IntegerKey{"model.n_layers", "/layers",
               [](Problem& p) -> std::int64_t& { return p.model.layers; }},
    IntegerKey{"model.n_heads", "/q_heads", [](Problem& p) -> std::int64_t& { return p.q_heads; }},
    IntegerKey{"model.n_kv_groups", "/kv_heads",
               [](Problem& p) -> std::int64_t& { return p.kv_heads; }},
    IntegerKey{"model.d_k", "/head_dim_k",
               [](Problem& p) -> std::int64_t& { return p.head_dim_k; }},
    IntegerKey{"model.d_v", "/head_dim_v",
               [](Problem& p) -> std::int64_t& { return p.head_dim_v; }},
    IntegerKey{"nsa.l", "/cmp_block",
               [](Problem& p) -> std::int64_t& { return p.geometry.cmp_block; }},
    IntegerKey{"nsa.d", "/cmp_stride",
               [](Problem& p) -> std::int64_t& { return p.geometry.cmp_stride; }},
    IntegerKey{"nsa.l_sel", "/sel_block",
               [](Problem& p) -> std::int64_t& { return p.geometry.sel_block; }},
    IntegerKey{"nsa.n_sel", "/sel_count",
               [](Problem& p) -> std::int64_t& { return p.geometry.sel_count; }},
    IntegerKey{"nsa.w", "/window", [](Problem& p) -> std::int64_t& { return p.geometry.window; }},
};
constexpr std::array<std::string_view, 3> kOtherKeys{"runtime.precision", "train.seq_len",
                                                     "train.batch_size"};

bool known(const std::string& key) {
  return std::any_of(kIntegerKeys.begin(), kIntegerKeys.end(),
                     [&](const IntegerKey& k) { return k.key == key; }) ||
         std::find(kOtherKeys.begin(), kOtherKeys.end(), key) != kOtherKeys.end();
}

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

[[noreturn]] void refuse(const std::string& where, int line, const std::string& what) {
  throw InputError(fmt::format("{}:{}: {}", where, line, what));
}

std::string scalar_of(const YAML::Node& node, const std::string& what, const std::string& where) {
  if (!node.IsScalar()) refuse(where, line_of(node), what + ": expected a single value");
  return node.Scalar();
}

/// Takes "section.key: value" for what we know, and notes the rest.
void read_section(const std::string& section, const YAML::Node& node, const std::string& where,
                  Entries& entries, std::vector<std::string>& notes) {
  for (const auto& item : node) {
    const std::string key = section + "." + visible(scalar_of(item.first, "a key", where));
    const int line = line_of(item.first);
    if (!known(key)) {
      notes.push_back(fmt::format("{}:{}: {} is ignored", where, line, key));
      continue;
    }
    const bool is_new =
        entries.try_emplace(key, Entry{scalar_of(item.second, key, where), line}).second;
    if (!is_new)
      refuse(
          where, line,
          fmt::format("{} is there twice (first in line {}); keep one", key, entries.at(key).line));
  }
}

Entries read_entries(const YAML::Node& root, const std::string& where,
                     std::vector<std::string>& notes) {
  if (!root.IsMap()) refuse(where, 1, "expected sections such as 'model:' with keys below them");
  Entries entries;
  for (const auto& section : root) {
    const std::string name = visible(scalar_of(section.first, "a section", where));
    if (name == "model" || name == "nsa" || name == "runtime" || name == "train") {
      const bool keys = section.second.IsMap() || section.second.IsNull();
      if (!keys)
        refuse(where, line_of(section.first), name + ": expected keys with values below it");
      read_section(name, section.second, where, entries, notes);
    } else {
      notes.push_back(fmt::format("{}:{}: {} is ignored", where, line_of(section.first), name));
    }
  }
  return entries;
}

std::int64_t integer_of(const std::string& key, const Entry& entry, const std::string& where) {
  std::int64_t value = 0;
  if (!YAML::convert<std::int64_t>::decode(YAML::Node(entry.text), value))
    refuse(where, entry.line, fmt::format("{}: '{}' is not an integer", key, entry.text));
  return value;
}

Dtype precision_of(const Entry& entry, const std::string& where) {
  const std::map<std::string_view, Dtype> names{
      {"fp64", Dtype::fp64},     {"float64", Dtype::fp64}, {"fp32", Dtype::fp32},
      {"float32", Dtype::fp32},  {"32", Dtype::fp32},      {"bf16", Dtype::bf16},
      {"bfloat16", Dtype::bf16}, {"fp16", Dtype::fp16},    {"float16", Dtype::fp16}};
  const auto found = names.find(entry.text);
  if (found == names.end())
    refuse(where, entry.line,
           fmt::format("runtime.precision: '{}' is unknown; use fp32, bf16 or "
                       "fp16",
                       entry.text));
  return found->second;
}

/// The entry whose field a violation names, for its line.
[[noreturn]] void refuse_violation(const std::string& violation, const Entries& entries,
                                   const std::string& where) {
  for (const IntegerKey& key : kIntegerKeys) {
    const auto entry = entries.find(std::string(key.key));
    if (entry != entries.end() && violation.rfind(std::string(key.pointer) + ":", 0) == 0)
      refuse(where, entry->second.line,
             fmt::format("{}{}", key.key, violation.substr(key.pointer.size())));
  }
  if (const auto e = entries.find("train.seq_len");
      e != entries.end() && violation.rfind("/seq_lens", 0) == 0)
    refuse(where, e->second.line, "train.seq_len" + violation.substr(violation.find(':')));
  throw InputError(fmt::format("{}: {}", where, violation));
}

void read_lengths(UserConfig& config, const Entries& entries, const std::string& where) {
  constexpr std::int64_t kMaxBatch = 65536;
  std::int64_t batch = 1, seq_len = 2048;
  if (const auto e = entries.find("train.seq_len"); e != entries.end())
    seq_len = integer_of(e->first, e->second, where);
  if (const auto e = entries.find("train.batch_size"); e != entries.end()) {
    batch = integer_of(e->first, e->second, where);
    if (batch < 1 || batch > kMaxBatch)
      refuse(where, e->second.line,
             fmt::format("train.batch_size: {} is outside of 1 to {}", batch, kMaxBatch));
  }
  config.problem.seq_lens.assign(static_cast<std::size_t>(batch), seq_len);
  config.problem.context_lens.assign(static_cast<std::size_t>(batch), 0);
}

}  // namespace

UserConfig parse_user_config(std::string_view text, const std::string& where) {
  UserConfig config;
  config.problem.model = {768, 12, kByteVocabulary};
  const Entries entries = read_entries(load_yaml(text, where), where, config.notes);
  for (const IntegerKey& key : kIntegerKeys) {
    if (const auto e = entries.find(std::string(key.key)); e != entries.end())
      key.field(config.problem) = integer_of(e->first, e->second, where);
  }
  if (const auto e = entries.find("runtime.precision"); e != entries.end())
    config.problem.dtype = precision_of(e->second, where);
  read_lengths(config, entries, where);
  for (const auto& [key, entry] : entries) config.used.push_back(key);
  if (const auto violation = find_violation(config.problem))
    refuse_violation(*violation, entries, where);
  return config;
}

SweepSpec with_user_config(SweepSpec spec, const UserConfig& config) {
  constexpr std::array<std::string_view, 13> kShapeAxes{
      "q_heads",   "kv_heads", "head_dim_k", "head_dim_v", "cmp_block", "cmp_stride", "sel_block",
      "sel_count", "window",   "dtype",      "model_dim",  "layers",    "vocab_size"};
  for (ProblemFamily& family : spec.families) {
    Problem& base = family.base;
    const Problem& from = config.problem;
    base.q_heads = from.q_heads;
    base.kv_heads = from.kv_heads;
    base.head_dim_k = from.head_dim_k;
    base.head_dim_v = from.head_dim_v;
    base.geometry = from.geometry;
    base.dtype = from.dtype;
    if (base.model.model_dim > 0) base.model.model_dim = from.model.model_dim;
    if (base.model.layers > 0) base.model.layers = from.model.layers;
    std::erase_if(family.axes, [&](const auto& axis) {
      return std::find(kShapeAxes.begin(), kShapeAxes.end(), axis.first) != kShapeAxes.end();
    });
  }
  return spec;
}

}  // namespace nsa::tuner
