#include "names.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "analyse/steps/ranges.hpp"
#include "nsa/schemas/text/step_name.hpp"

namespace nsa::trace {
namespace {

using Alias = std::pair<std::string_view, std::string_view>;  // name in the trace -> stage

constexpr std::array<std::string_view, 15> kStages{"project_rope",
                                                   "compress",
                                                   "score",
                                                   "pcmp",
                                                   "pslc",
                                                   "topk",
                                                   "ranges",
                                                   "attend_compressed",
                                                   "attend_selected",
                                                   "attend_window",
                                                   "gate_combine",
                                                   "out_proj",
                                                   "attention",
                                                   "layer",
                                                   "model"};

/// What `run --train` calls the parts of a step beside the stages of its forward pass, which are
/// those of inference after "forward/".
constexpr std::string_view kForward = "forward/";
constexpr std::array<std::string_view, 28> kTrainingParts{"forward/embed",
                                                          "forward/norm",
                                                          "forward/mlp",
                                                          "backward/head",
                                                          "backward/norm",
                                                          "backward/mlp",
                                                          "backward/embed",
                                                          "backward/project_rope",
                                                          "backward/compress",
                                                          "backward/ranges",
                                                          "backward/attend_compressed",
                                                          "backward/attend_selected",
                                                          "backward/attend_window",
                                                          "backward/gate_combine",
                                                          "backward/out_proj",
                                                          "recompute/norm",
                                                          "recompute/mlp",
                                                          "recompute/project_rope",
                                                          "recompute/compress",
                                                          "recompute/score",
                                                          "recompute/ranges",
                                                          "recompute/attend_compressed",
                                                          "recompute/attend_selected",
                                                          "recompute/attend_window",
                                                          "recompute/gate_combine",
                                                          "recompute/out_proj",
                                                          "optimizer/clip",
                                                          "optimizer/adamw"};

/// What the PyTorch implementation of NSA calls them.
constexpr std::array<Alias, 9> kAliases{{
    {"projections+rope", "project_rope"},
    {"pcmp_all", "pcmp"},
    {"map_pcmp_to_pslc", "pslc"},
    {"topk+ranges", "topk+ranges"},
    {"branch_attn+gate", "attend_compressed+attend_selected+attend_window+gate_combine"},
    {"nsa.sel.ranges_v1", "ranges"},
    {"nsa.sel.ranges_v2", "ranges"},
    {"v2_run_detection", "ranges"},
    {"v2_scatter_reduce", "ranges"},
}};

constexpr std::array<Alias, 12> kPrefixes{{
    {"autograd::engine::evaluate_function", "backward"},
    {"## backward", "backward"},
    {"backward ", "backward"},  // of a module, by trace record's hook
    {"forward ", "forward"},
    {"## forward", "forward"},
    {"DistributedDataParallel.forward", "forward"},
    {"Optimizer.step", "optimizer"},
    {"Optimizer.zero_grad", "optimizer"},
    {"## optimizer", "optimizer"},
    {"nccl:", kCommunication},
    {"rccl:", kCommunication},
    {"c10d::", kCommunication},
}};

/// Without what PyTorch's ranges carry after the name: "aten::mul, seq = 3, op_id = 7, sizes =
/// ...".
std::string_view before_numbers(std::string_view range) {
  for (const std::string_view mark : {", seq = ", ", op_id = ", ", sizes = "})
    range = range.substr(0, range.find(mark));
  return range;
}

/// Before what a range carries besides its name: "attend_selected/fused_query S=2048", "aten::mul,
/// op_id = 7".
std::string_view bare(std::string_view range) {
  range = before_numbers(range);
  for (const std::string_view prefix : {"nsatune/", "decode/", "prefill/"})
    if (range.starts_with(prefix)) range.remove_prefix(prefix.size());
  return range;
}

}  // namespace

std::optional<std::string_view> stage_of_range(std::string_view range) {
  range = bare(range);
  for (const auto& [name, stage] : kAliases)
    if (range == name) return stage;
  const auto part = std::find(kTrainingParts.begin(), kTrainingParts.end(), range);
  if (part != kTrainingParts.end()) return *part;
  if (range.starts_with(kForward)) range.remove_prefix(kForward.size());
  const std::string_view word = range.substr(0, range.find_first_of("/ :[("));
  const auto own = std::find(kStages.begin(), kStages.end(), word);
  if (own != kStages.end()) return *own;
  for (const auto& [prefix, stage] : kPrefixes)
    if (range.starts_with(prefix)) return stage;
  return {};
}

bool is_stage_of_layer(std::string_view stage) {
  const std::string_view first = stage.substr(0, stage.find('+'));
  const auto whole = std::find(kStages.begin(), kStages.end(), "attention");
  return std::find(kStages.begin(), whole, first) != whole;
}

bool loads_data(std::string_view range) {
  for (const std::string_view word : {"DataLoader", "dataloader", "data_loader", "DataPipe"})
    if (range.find(word) != range.npos) return true;
  return false;
}

std::string stage_of_annotation(std::string_view range) {
  constexpr std::size_t kLongest = 100;
  range = before_numbers(range).substr(0, kLongest);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::string out;
  for (std::size_t i = 0; i < range.size();) {
    std::size_t end = i;
    while (end < range.size() && is_digit(range[end])) ++end;
    if (end == i) {
      out += range[i++];
      continue;
    }
    const bool in_word =
        i > 0 && is_letter(range[i - 1]) && end < range.size() && is_letter(range[end]);
    out += in_word ? range.substr(i, end - i) : "N";
    i = end;
  }
  return out.empty() ? "(no name)" : out;
}

std::string plain_range_name(std::string_view range) {
  return is_step_name(range) || step_name(range) != StepName::no
             ? stage_of_annotation(range)
             : std::string(before_numbers(range));
}

std::optional<std::string_view> parent_of_stage(std::string_view stage) {
  if (stage == "pcmp" || stage == "pslc" || stage == "topk") return "score";
  return {};
}

}  // namespace nsa::trace
