#include "nsa/tuner/user_config.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "config_keys.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/problem/limits.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/tuner/count_text.hpp"
#include "nsa/tuner/plan.hpp"
#include "nsa/tuner/training_settings.hpp"
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
constexpr std::array<std::string_view, 7> kOtherKeys{
    "nsa.phi",         "runtime.precision",       "runtime.fa2_enabled",
    "train.seq_len",   "runtime.fa2_min_len_win", "runtime.fa2_min_len_cmp",
    "train.batch_size"};

/// Whether an axis is a field of the problem that a config settles for all of a sweep.
bool is_of_config(std::string_view axis) {
  return axis == "dtype" || axis == "vocab_size" ||
         std::ranges::any_of(kIntegerKeys,
                             [&](const IntegerKey& key) { return key.pointer.substr(1) == axis; });
}

std::vector<std::string_view> read_keys() {
  std::vector<std::string_view> keys(kOtherKeys.begin(), kOtherKeys.end());
  for (const IntegerKey& key : kIntegerKeys) keys.push_back(key.key);
  return keys;
}

std::string scalar_of(const YAML::Node& node, const std::string& what, const std::string& where) {
  if (!node.IsScalar()) refuse_line(where, line_of(node), what + ": expected a single value");
  return node.Scalar();
}

/// The keys of a file, sorted into those that are read and those that are not.
class EntryReader {
 public:
  EntryReader(const std::string& where, bool ignore_unknown, bool training)
      : where_(where), ignore_unknown_(ignore_unknown), training_(training) {}

  void read(const YAML::Node& root) {
    if (!root.IsMap())
      refuse_line(where_, 1, "expected sections such as 'model:' with keys below them");
    for (const auto& section : root) {
      const std::string name = visible(scalar_of(section.first, "a section", where_));
      const int line = line_of(section.first);
      add_key(lines_, name, line, where_);
      if (!is_read_section(name)) {
        leave_out(name, line);
        continue;
      }
      if (!section.second.IsMap() && !section.second.IsNull())
        refuse_line(where_, line, name + ": expected keys with values below it");
      read_section(name, section.second);
    }
  }

  const Entries& entries() const { return entries_; }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    if (!inert_.empty())
      notes.push_back(fmt::format("{}: ignored (no effect here): {}", where_, joined(inert_)));
    if (!unknown_.empty())
      notes.push_back(fmt::format("{}: unknown, ignored: {}", where_, joined(unknown_)));
    return notes;
  }

 private:
  static std::string joined(const std::vector<std::string>& keys) {
    constexpr std::size_t kShown = 40;
    const std::size_t shown = std::min(keys.size(), kShown);
    const std::span<const std::string> first(keys.data(), shown);
    std::string text = fmt::format("{}", fmt::join(first, ", "));
    if (shown < keys.size()) text += fmt::format(" and {} more", keys.size() - shown);
    return text;
  }

  void read_section(const std::string& section, const YAML::Node& node) {
    for (const auto& item : node) {
      const std::string key = section + "." + visible(scalar_of(item.first, "a key", where_));
      const int line = line_of(item.first);
      add_key(lines_, key, line, where_);
      if (std::ranges::find(read_keys_, key) == read_keys_.end()) {
        leave_out(key, line);
        continue;
      }
      entries_.emplace(key, Entry{scalar_of(item.second, key, where_), line});
    }
  }

  void leave_out(const std::string& key, int line) {
    if (training_ && is_training_key(key)) return;  // parse_training_settings() reads it
    if (is_inert_key(key)) {
      inert_.push_back(key);
    } else if (ignore_unknown_) {
      unknown_.push_back(key);
    } else {
      refuse_line(where_, line, unknown_key(key, read_keys_));
    }
  }

  const std::string& where_;
  bool ignore_unknown_, training_;
  const std::vector<std::string_view> read_keys_ = read_keys();
  Entries entries_;
  std::map<std::string, int> lines_;
  std::vector<std::string> inert_, unknown_;
};

std::int64_t integer_of(const std::string& key, const Entry& entry, const std::string& where) {
  std::int64_t value = 0;
  if (YAML::convert<std::int64_t>::decode(YAML::Node(entry.text), value)) return value;
  if (const auto count = parse_count(entry.text)) return *count;  // 8k, as on the command line
  refuse_line(where, entry.line,
              fmt::format("{}: '{}' is not an integer", key, visible(entry.text)));
}

Dtype precision_of(const Entry& entry, const std::string& where) {
  const std::map<std::string_view, Dtype> names{
      {"fp64", Dtype::fp64},     {"float64", Dtype::fp64}, {"fp32", Dtype::fp32},
      {"float32", Dtype::fp32},  {"32", Dtype::fp32},      {"bf16", Dtype::bf16},
      {"bfloat16", Dtype::bf16}, {"fp16", Dtype::fp16},    {"float16", Dtype::fp16}};
  std::string lower = entry.text;
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  const auto found = names.find(lower);
  if (found == names.end())
    refuse_line(where, entry.line,
                fmt::format("runtime.precision: '{}' is unknown; use fp32, bf16 or "
                            "fp16",
                            visible(entry.text)));
  return found->second;
}

/// The entry whose field a violation names, for its line.
[[noreturn]] void refuse_violation(const std::string& violation, const Entries& entries,
                                   const std::string& where) {
  for (const IntegerKey& key : kIntegerKeys) {
    const auto entry = entries.find(std::string(key.key));
    if (entry != entries.end() && violation.rfind(std::string(key.pointer) + ":", 0) == 0)
      refuse_line(where, entry->second.line,
                  fmt::format("{}{}", key.key, violation.substr(key.pointer.size())));
  }
  if (const auto e = entries.find("train.seq_len");
      e != entries.end() && violation.rfind("/seq_lens", 0) == 0)
    refuse_line(where, e->second.line, "train.seq_len" + violation.substr(violation.find(':')));
  throw InputError(fmt::format("{}: {}", where, violation));
}

void read_lengths(UserConfig& config, const Entries& entries, const std::string& where) {
  std::int64_t batch = 1, seq_len = 2048;
  if (const auto e = entries.find("train.seq_len"); e != entries.end())
    seq_len = integer_of(e->first, e->second, where);
  if (const auto e = entries.find("train.batch_size"); e != entries.end()) {
    batch = integer_of(e->first, e->second, where);
    if (batch < 1 || batch > kMaxProblemBatch)
      refuse_line(
          where, e->second.line,
          fmt::format("train.batch_size: {} is outside of 1 to {}", batch, kMaxProblemBatch));
  }
  config.problem.seq_lens.assign(static_cast<std::size_t>(batch), seq_len);
  config.problem.context_lens.assign(static_cast<std::size_t>(batch), 0);
}

constexpr std::string_view kMeanPooling = "avg";  // the users' word for it

/// Pooling by a learned MLP has weights of its own, and other costs.
void require_mean_pooling(const Entries& entries, const std::string& where) {
  const auto e = entries.find("nsa.phi");
  if (e == entries.end() || e->second.text == kMeanPooling) return;
  refuse_line(where, e->second.line,
              fmt::format("nsa.phi: '{}' is another model; only {} is computed here",
                          visible(e->second.text), kMeanPooling));
}

/// As the users' training script copies them into its environment.
std::vector<ConfigSwitch> switches_of(const Entries& entries, const std::string& where) {
  std::vector<ConfigSwitch> switches;
  const auto add = [&](const std::string& key, const Entry& entry, const char* name,
                       std::string value) {
    switches.push_back({fmt::format("{}:{}: {}", where, entry.line, key), name, std::move(value)});
  };
  if (const auto e = entries.find("runtime.fa2_enabled"); e != entries.end()) {
    bool on = false;
    if (!YAML::convert<bool>::decode(YAML::Node(e->second.text), on))
      refuse_line(
          where, e->second.line,
          fmt::format("{}: '{}' is neither true nor false", e->first, visible(e->second.text)));
    add(e->first, e->second, "NSA_USE_FA2", on ? "1" : "0");
  }
  for (const auto& [key, name] : {std::pair{"runtime.fa2_min_len_win", "NSA_FA2_MIN_LEN_WIN"},
                                  std::pair{"runtime.fa2_min_len_cmp", "NSA_FA2_MIN_LEN_CMP"}}) {
    if (const auto e = entries.find(key); e != entries.end())
      add(key, e->second, name, std::to_string(integer_of(key, e->second, where)));
  }
  return switches;
}

}  // namespace

UserConfig parse_user_config(std::string_view text, const std::string& where, bool ignore_unknown,
                             bool training) {
  UserConfig config;
  config.problem.model = {768, 12, kByteVocabulary};
  EntryReader reader(where, ignore_unknown, training);
  reader.read(load_yaml(text, where));
  const Entries& entries = reader.entries();
  config.notes = reader.notes();
  require_mean_pooling(entries, where);
  for (const IntegerKey& key : kIntegerKeys) {
    if (const auto e = entries.find(std::string(key.key)); e != entries.end())
      key.field(config.problem) = integer_of(e->first, e->second, where);
  }
  // In a problem 0 says that there is no model; who writes a config has one.
  const ModelShape& model = config.problem.model;
  for (const auto& [pointer, size] :
       {std::pair{"/model_dim", model.model_dim}, {"/layers", model.layers}}) {
    if (size < 1) refuse_violation(fmt::format("{}: {} is below 1", pointer, size), entries, where);
  }
  if (const auto e = entries.find("runtime.precision"); e != entries.end())
    config.problem.dtype = precision_of(e->second, where);
  read_lengths(config, entries, where);
  config.switches = switches_of(entries, where);
  for (const auto& [key, entry] : entries) config.used.push_back(key);
  if (const auto violation = find_violation(config.problem))
    refuse_violation(*violation, entries, where);
  return config;
}

std::string misspelt_key(std::string_view key) {
  const std::size_t dot = key.find('.');
  const std::string_view section = key.substr(0, dot);
  if (is_inert_key(section)) return {};
  if (!is_read_section(section)) return slip_of(section, read_keys());
  return is_inert_key(key) || is_training_key(key) ? std::string() : slip_of(key, read_keys());
}

SweepSpec with_user_config(SweepSpec spec, const UserConfig& config) {
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
    const bool own_batch =
        std::ranges::any_of(family.axes, [](const auto& axis) { return axis.first == "batch"; });
    if (base.phase == Phase::prefill && !own_batch)
      set_axis(base, "batch", std::to_string(from.batch()));
    std::erase_if(family.axes, [](const auto& axis) { return is_of_config(axis.first); });
  }
  return spec;
}

}  // namespace nsa::tuner
