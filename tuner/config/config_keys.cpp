#include "config_keys.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "nsa/schemas/text.hpp"

namespace nsa::tuner {
namespace {

constexpr std::array<std::string_view, 4> kSections{"model", "nsa", "runtime", "train"};
constexpr std::array<std::string_view, 20> kInert{
    "data",
    "runtime.device",
    "runtime.use_flash",
    "runtime.use_triton_sel",
    "runtime.sel_triton_min_L",
    "runtime.compile_cmp_win",
    "runtime.gradient_checkpointing",
    "train.steps",
    "train.lr",
    "train.lr_schedule",
    "train.warmup_steps",
    "train.weight_decay",
    "train.grad_clip",
    "train.max_grad_norm",
    "train.accumulate_grad_batches",
    "train.log_every",
    "train.eval_every",
    "train.save_every",
    "train.seed",
    "train.out_dir",
};

bool holds(std::span<const std::string_view> keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

}  // namespace

bool is_read_section(std::string_view name) { return holds(kSections, name); }

bool is_inert_key(std::string_view key) { return holds(kInert, key); }

namespace {

std::vector<std::string_view> known_names(std::span<const std::string_view> read) {
  std::vector<std::string_view> names(kSections.begin(), kSections.end());
  names.insert(names.end(), read.begin(), read.end());
  names.insert(names.end(), kInert.begin(), kInert.end());
  return names;
}

}  // namespace

std::string unknown_key(std::string_view key, std::span<const std::string_view> read) {
  return std::string(key) + ": no such key" + did_you_mean(key, known_names(read)) +
         " (--ignore-unknown reads the file without it)";
}

std::string slip_of(std::string_view key, std::span<const std::string_view> read) {
  constexpr std::size_t kMostCompared = 60;
  if (key.size() > kMostCompared) return {};
  const std::vector<std::string_view> names = known_names(read);
  const std::string_view nearest = nearest_name(key, names);
  if (nearest.empty() || edit_distance(key, nearest) != 1) return {};
  return std::string(key) + ": no such key; did you mean " + std::string(nearest) + "?";
}

}  // namespace nsa::tuner
