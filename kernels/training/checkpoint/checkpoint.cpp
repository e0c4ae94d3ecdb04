#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "cpu/convert.hpp"
#include "nsa/kernels/training_checkpoint.hpp"
#include "nsa/schemas/output_path.hpp"
#include "training/checkpoint/safetensors.hpp"
#include "training/memory.hpp"

namespace nsa::training {
namespace {

constexpr const char* kFormat = "nsatune-training";
constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMostSteps = 1'000'000'000'000'000;  // a double counts them
constexpr const char* kModelPrefix = "model.";
constexpr const char* kSquares = "moment2";
constexpr std::string_view kNotePrefix = "note.";

/// What has to be equal for a checkpoint to be of this model, by name.
std::map<std::string, std::string> model_of(const TrainingConfig& config) {
  const ModelConfig& c = config.model;
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  return {{"model_dim", text(c.model_dim)},
          {"layers", text(c.layers)},
          {"vocab_size", text(c.vocab_size)},
          {"mlp_ratio", text(c.mlp_ratio)},
          {"q_heads", text(c.q_heads)},
          {"kv_heads", text(c.kv_heads)},
          {"head_dim_k", text(c.head_dim_k)},
          {"head_dim_v", text(c.head_dim_v)},
          {"cmp_block", text(c.geometry.cmp_block)},
          {"cmp_stride", text(c.geometry.cmp_stride)},
          {"sel_block", text(c.geometry.sel_block)},
          {"sel_count", text(c.geometry.sel_count)},
          {"window", text(c.geometry.window)},
          {"dtype", std::string(nsa::to_string(c.dtype))},
          {"attention", c.attention == AttentionKind::dense ? "dense" : "nsa"},
          {"masters", has_masters(config) ? "fp32" : "none"}};
}

std::int64_t number_of(const std::string& path, const SafetensorsHeader& header, const char* key) {
  const auto at = header.metadata.find(key);
  if (at == header.metadata.end())
    throw InputError(path + ": is not a checkpoint of nsatune: it does not say " + key);
  std::int64_t number = 0;
  const char* end = at->second.data() + at->second.size();
  const auto read = std::from_chars(at->second.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end || number < 0)
    throw InputError(path + ": " + key + " is not a number");
  return number;
}

CheckpointInfo info_of(const std::string& path, const SafetensorsHeader& header) {
  const auto format = header.metadata.find("format");
  if (format == header.metadata.end() || format->second != kFormat)
    throw InputError(path + ": holds tensors, but no checkpoint of nsatune run --train --save");
  const std::int64_t version = number_of(path, header, "version");
  if (version > kVersion)
    throw InputError(path + ": is of version " + std::to_string(version) +
                     "; this program knows version " + std::to_string(kVersion) +
                     " at most: take a newer one");
  CheckpointInfo info{number_of(path, header, "step"), {}};
  if (info.step > kMostSteps)
    throw InputError(path + ": step is " + std::to_string(info.step) +
                     ", more than any training takes");
  for (const auto& [key, value] : header.metadata)
    if (key.starts_with(kNotePrefix)) info.notes[key.substr(kNotePrefix.size())] = value;
  return info;
}

void require_same_model(const std::string& path, const SafetensorsHeader& header,
                        const TrainingConfig& config) {
  for (const auto& [key, here] : model_of(config)) {
    const auto at = header.metadata.find(kModelPrefix + key);
    const std::string there = at == header.metadata.end() ? "nothing" : at->second;
    if (there != here)
      throw InputError(path + ": is of another model: " + key + " is " + there + " there, and " +
                       here + " in this run");
  }
}

/// Prefix of the tensors of a part of the state.
std::string prefix_of(const std::string& part) {
  return part == "weights" ? kModelPrefix : part + ".";
}

std::vector<std::int64_t> shape_of(const TensorView& view) {
  return {view.shape.begin(), view.shape.begin() + view.rank};
}

/// Views of the parameters in a part of the state.
std::vector<Trainer::NamedTensor> parameters_in(const ModelConfig& model,
                                                Trainer::StatePart& part) {
  return named_parameters(model,
                          make_view(part.bytes.data(), part.dtype, {parameter_count(model)}));
}

/// NaN in any part, or a mean of squares below zero: nothing that training leaves. (An infinite
/// mean of squares is what fp32 makes of a large gradient.)
void require_possible(const std::string& path, const std::string& part, const std::string& name,
                      const TensorView& view) {
  constexpr std::int64_t kPiece = 4096;
  double values[kPiece];
  const std::int64_t count = view.elements();
  TensorView flat = make_view(view.data, view.dtype, {count});
  for (std::int64_t from = 0; from < count; from += kPiece) {
    const std::int64_t n = std::min(kPiece, count - from);
    load_row(flat, from, n, values);
    for (std::int64_t i = 0; i < n; ++i) {
      if (std::isnan(values[i])) throw InputError(path + ": " + name + " holds NaN");
      if (part == kSquares && values[i] < 0)
        throw InputError(path + ": " + name + " is a mean of squares and holds a number below 0");
    }
  }
}

void read_part(const std::string& path, const SafetensorsHeader& header, const ModelConfig& model,
               Trainer::StatePart& part) {
  part.bytes.resize(static_cast<std::size_t>(parameter_count(model)) * size_of(part.dtype));
  for (const auto& [name, view] : parameters_in(model, part)) {
    const std::string full = prefix_of(part.name) + name;
    const auto at = header.tensors.find(full);
    if (at == header.tensors.end()) throw InputError(path + ": " + full + " is missing");
    if (at->second.dtype != view.dtype || at->second.shape != shape_of(view))
      throw InputError(path + ": " + full + " has another shape or dtype than the model");
    const std::vector<std::byte> bytes = read_safetensors(path, header, at->second);
    std::memcpy(view.data, bytes.data(), bytes.size());
    require_possible(path, part.name, full, view);
  }
}

/// The part of the state whose tensors are written now: as much again as all of it may not fit
/// beside a training that does.
class PartAtHand {
 public:
  explicit PartAtHand(const Trainer& trainer) : trainer_(trainer) {}
  /// A tensor of that part, in the order of the parameters.
  const TensorView& tensor(const std::string& part, std::size_t i) {
    if (part_.name != part) {
      tensors_.clear();
      part_ = {};  // frees the one before
      part_ = trainer_.state_part(part);
      tensors_ = parameters_in(trainer_.config().model, part_);
    }
    return tensors_.at(i).view;
  }

 private:
  const Trainer& trainer_;
  Trainer::StatePart part_;
  std::vector<Trainer::NamedTensor> tensors_;
};

}  // namespace

std::string checkpoint_path(const std::string& folder) {
  return (std::filesystem::path(folder) / "checkpoint.safetensors").string();
}

void require_checkpoint_folder(const std::string& folder) {
  std::error_code ignored;
  const auto status = std::filesystem::status(folder, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_directory(status))
    throw InputError(folder + ": is not a folder; name one for checkpoints");
  make_folder(folder);
  require_writable(checkpoint_path(folder));
}

void save_checkpoint(const std::string& folder, const Trainer& trainer,
                     const std::map<std::string, std::string>& notes) {
  make_folder(folder);
  std::map<std::string, std::string> metadata{{"format", kFormat},
                                              {"version", std::to_string(kVersion)},
                                              {"step", std::to_string(trainer.steps_done())}};
  for (const auto& [key, value] : model_of(trainer.config())) metadata[kModelPrefix + key] = value;
  for (const auto& [key, value] : notes) metadata[std::string(kNotePrefix) + key] = value;
  PartAtHand at_hand(trainer);
  const std::vector<Trainer::NamedTensor> parameters = trainer.parameters();
  std::vector<WrittenTensor> tensors;
  for (const Trainer::StatePart& part : trainer.state_parts()) {
    for (std::size_t i = 0; i < parameters.size(); ++i)
      tensors.push_back({prefix_of(part.name) + parameters[i].name, part.dtype,
                         shape_of(parameters[i].view), [&at_hand, part = part.name, i] {
                           return static_cast<const std::byte*>(at_hand.tensor(part, i).data);
                         }});
  }
  write_safetensors(checkpoint_path(folder), metadata, tensors);
}

CheckpointInfo load_checkpoint(const std::string& folder, Trainer& trainer) {
  const std::string path = checkpoint_path(folder);
  const SafetensorsHeader header = read_safetensors_header(path);
  const CheckpointInfo info = info_of(path, header);
  require_same_model(path, header, trainer.config());
  // All of it is looked at before any of it is taken.
  for (const bool take : {false, true}) {
    for (Trainer::StatePart& part : trainer.state_parts()) {
      read_part(path, header, trainer.config().model, part);
      if (take) trainer.set_state_part(part);
    }
  }
  trainer.set_steps(info.step);
  return info;
}

CheckpointInfo read_checkpoint_info(const std::string& folder) {
  const std::string path = checkpoint_path(folder);
  return info_of(path, read_safetensors_header(path));
}

}  // namespace nsa::training
