#include "config_keys.hpp"

#include <algorithm>
#include <array>

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
constexpr std::size_t kMaxCompared = 60;  // of a key: the time of a comparison grows with both

bool holds(std::span<const std::string_view> keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

}  // namespace

bool is_read_section(std::string_view name) { return holds(kSections, name); }

bool is_inert_key(std::string_view key) { return holds(kInert, key); }

std::string unknown_key(std::string_view key, std::span<const std::string_view> read) {
  const std::string_view probe = key.substr(0, kMaxCompared);
  std::string_view nearest;
  std::size_t least = probe.size() / 3 + 2;  // further away than that is no suggestion
  for (const auto& known : {std::span<const std::string_view>(kSections), read,
                            std::span<const std::string_view>(kInert)}) {
    for (const std::string_view name : known) {
      const std::size_t distance = edit_distance(probe, name);
      if (distance < least) nearest = name, least = distance;
    }
  }
  std::string line = std::string(key) + ": no such key";
  if (!nearest.empty()) line += "; did you mean " + std::string(nearest) + "?";
  return line + " (--ignore-unknown reads the file without it)";
}

}  // namespace nsa::tuner
