#include "nsa/doctor/evidence.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "nsa/schemas/error.hpp"

namespace nsa::doctor {
namespace {

/// What rules read of a config.
constexpr std::array<std::string_view, 22> kConfigKeys{"model.d_k",
                                                       "model.d_v",
                                                       "model.dim",
                                                       "model.n_heads",
                                                       "model.n_kv_groups",
                                                       "model.n_layers",
                                                       "nsa.d",
                                                       "nsa.l",
                                                       "nsa.l_sel",
                                                       "nsa.n_sel",
                                                       "nsa.w",
                                                       "runtime.fa2_enabled",
                                                       "runtime.fa2_min_len_cmp",
                                                       "runtime.fa2_min_len_win",
                                                       "runtime.gradient_checkpointing",
                                                       "runtime.precision",
                                                       "runtime.use_flash",
                                                       "runtime.use_triton_sel",
                                                       "train.accumulate_grad_batches",
                                                       "train.batch_size",
                                                       "train.seq_len",
                                                       "trainer.precision"};
bool is_known(std::string_view key) {
  return std::find(kConfigKeys.begin(), kConfigKeys.end(), key) != kConfigKeys.end();
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

const Setting* find_in(const Settings& settings, std::string_view name) {
  const auto at = settings.find(name);
  return at == settings.end() ? nullptr : &at->second;
}

std::optional<bool> boolean_of(const Setting* setting) {
  if (!setting) return {};
  const std::string value = lowered(setting->value);
  for (const char* word : {"1", "true", "yes", "on"})
    if (value == word) return true;
  for (const char* word : {"0", "false", "no", "off"})
    if (value == word) return false;
  return {};
}

std::optional<std::int64_t> integer_of(const Setting* setting) {
  if (!setting) return {};
  std::int64_t value = 0;
  const char* end = setting->value.data() + setting->value.size();
  const auto [rest, error] = std::from_chars(setting->value.data(), end, value);
  if (error != std::errc{} || rest != end) return {};
  return value;
}

}  // namespace

std::string_view to_string(Kind kind) {
  constexpr std::array<std::string_view, 6> kNames{"environment", "config", "log",
                                                   "heartbeat",   "trace",  "command"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string clean(std::string_view text, std::size_t bytes) {
  const bool cut = text.size() > bytes;
  std::string out(text.substr(0, bytes));
  while (cut && !out.empty() && (static_cast<unsigned char>(out.back()) & 0x80u)) out.pop_back();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    const bool c1 = byte == 0xc2 && i + 1 < out.size() &&
                    static_cast<unsigned char>(out[i + 1]) < 0xa0;  // U+0080 to U+009F
    if (byte < 0x20 || byte == 0x7f || c1) out[i] = '?';
    if (c1) out[++i] = '?';
  }
  return cut ? out + "..." : out;
}

const Setting* EnvironmentEvidence::find(std::string_view name) const {
  return find_in(variables, name);
}
std::optional<bool> EnvironmentEvidence::boolean(std::string_view name) const {
  return boolean_of(find(name));
}
bool EnvironmentEvidence::decided_for(std::string_view stage, std::string_view path) const {
  const auto found = decided.find(stage);
  if (found == decided.end()) return false;
  std::string runs = found->second;
  std::replace(runs.begin(), runs.end(), ' ', '_');
  return runs.starts_with(path);
}
std::optional<std::int64_t> EnvironmentEvidence::integer(std::string_view name) const {
  return integer_of(find(name));
}

bool ConfigEvidence::any_known() const {
  return std::any_of(keys.begin(), keys.end(), [](const auto& key) { return is_known(key.first); });
}
bool ConfigEvidence::of_nsa() const {
  return std::any_of(keys.begin(), keys.end(),
                     [](const auto& key) { return key.first.starts_with("nsa."); });
}
const Setting* ConfigEvidence::find(std::string_view key) const {
  expects(is_known(key), "a key of kConfigKeys");
  return find_in(keys, key);
}
std::optional<bool> ConfigEvidence::boolean(std::string_view key) const {
  return boolean_of(find(key));
}
std::optional<std::int64_t> ConfigEvidence::integer(std::string_view key) const {
  return integer_of(find(key));
}

bool RunEvidence::has(Kind kind) const {
  switch (kind) {
    case Kind::environment:
      return !environments.empty();
    case Kind::config:
      return !configs.empty();
    case Kind::log:
      return !logs.empty();
    case Kind::heartbeat:
      return !heartbeats.empty();
    case Kind::trace:
      return !traces.empty();
    case Kind::command:
      return !commands.empty();
  }
  return false;
}

}  // namespace nsa::doctor
