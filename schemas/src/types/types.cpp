// Names of all enumerators, one table each; both directions read the same table.
#include "nsa/schemas/types.hpp"

#include "nsa/schemas/problem.hpp"
#include "nsa/schemas/run.hpp"
#include "nsa/schemas/thresholds.hpp"
#include "nsa/schemas/training/directions.hpp"

namespace nsa {
namespace {

/// Names in the order of the enumerators; specialised for every enum of the vocabulary.
template <class Enum>
struct Names;

template <>
struct Names<Dtype> {
  static constexpr std::array<std::string_view, 5> kAll{"fp64", "fp32", "bf16", "fp16", "int32"};
};
template <>
struct Names<Direction> {
  static constexpr std::array<std::string_view, kDirectionCount> kAll{
      "forward", "backward", "forward_saving", "forward_backward"};
};
template <>
struct Names<Phase> {
  static constexpr std::array<std::string_view, 3> kAll{"prefill", "chunked_prefill", "decode"};
};
template <>
struct Names<Backend> {
  static constexpr std::array<std::string_view, 2> kAll{"cpu", "cuda"};
};
template <>
struct Names<Stage> {
  static constexpr std::array<std::string_view, kStageCount> kAll{
      "project_rope",      "compress",        "score",         "ranges",
      "attend_compressed", "attend_selected", "attend_window", "gate_combine",
      "out_proj",          "attention",       "layer",         "model"};
};
template <>
struct Names<SelectionPattern> {
  static constexpr std::array<std::string_view, 3> kAll{"random", "smooth", "recorded"};
};
template <>
struct Names<LaunchMode> {
  static constexpr std::array<std::string_view, 2> kAll{"eager", "graph"};
};
template <>
struct Names<Timer> {
  static constexpr std::array<std::string_view, 3> kAll{"events", "cupti", "host"};
};
template <>
struct Names<Outcome> {
  static constexpr std::array<std::string_view, 8> kAll{
      "ok",      "unsupported", "not_built", "out_of_memory",
      "timeout", "crashed",     "bad_reply", "noisy"};
};
template <>
struct Names<Verification> {
  static constexpr std::array<std::string_view, 3> kAll{"verified", "wrong_result", "unverified"};
};
template <>
struct Names<Axis> {
  static constexpr std::array<std::string_view, 4> kAll{"seq_len", "context_len", "row_len",
                                                        "compressed_len"};
};
template <>
struct Names<BatchBin> {
  static constexpr std::array<std::string_view, 4> kAll{"1", "2-4", "5-16", "more"};
};
template <>
struct Names<OverlapBin> {
  static constexpr std::array<std::string_view, 3> kAll{"low", "middle", "high"};
};
template <>
struct Names<RunState> {
  static constexpr std::array<std::string_view, 3> kAll{"open", "complete", "incomplete"};
};

template <>
struct Names<Basis> {
  static constexpr std::array<std::string_view, 3> kAll{"measured", "extrapolated", "undecided"};
};

template <class Enum>
std::string_view name_of(Enum value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < Names<Enum>::kAll.size() ? Names<Enum>::kAll[index] : "invalid";
}

}  // namespace

std::string_view to_string(Dtype value) noexcept { return name_of(value); }
std::string_view to_string(Direction value) noexcept { return name_of(value); }
std::string_view to_string(Phase value) noexcept { return name_of(value); }
std::string_view to_string(Backend value) noexcept { return name_of(value); }
std::string_view to_string(Stage value) noexcept { return name_of(value); }
std::string_view to_string(SelectionPattern value) noexcept { return name_of(value); }
std::string_view to_string(LaunchMode value) noexcept { return name_of(value); }
std::string_view to_string(Timer value) noexcept { return name_of(value); }
std::string_view to_string(Outcome value) noexcept { return name_of(value); }
std::string_view to_string(Verification value) noexcept { return name_of(value); }
std::string_view to_string(Axis value) noexcept { return name_of(value); }
std::string_view to_string(BatchBin value) noexcept { return name_of(value); }
std::string_view to_string(OverlapBin value) noexcept { return name_of(value); }
std::string_view to_string(RunState value) noexcept { return name_of(value); }
std::string_view to_string(Basis value) noexcept { return name_of(value); }

template <class Enum>
std::optional<Enum> from_string(std::string_view name) noexcept {
  for (std::size_t i = 0; i < Names<Enum>::kAll.size(); ++i) {
    if (Names<Enum>::kAll[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template std::optional<Dtype> from_string(std::string_view) noexcept;
template std::optional<Direction> from_string(std::string_view) noexcept;
template std::optional<Phase> from_string(std::string_view) noexcept;
template std::optional<Backend> from_string(std::string_view) noexcept;
template std::optional<Stage> from_string(std::string_view) noexcept;
template std::optional<SelectionPattern> from_string(std::string_view) noexcept;
template std::optional<LaunchMode> from_string(std::string_view) noexcept;
template std::optional<Timer> from_string(std::string_view) noexcept;
template std::optional<Outcome> from_string(std::string_view) noexcept;
template std::optional<Verification> from_string(std::string_view) noexcept;
template std::optional<Axis> from_string(std::string_view) noexcept;
template std::optional<BatchBin> from_string(std::string_view) noexcept;
template std::optional<OverlapBin> from_string(std::string_view) noexcept;
template std::optional<RunState> from_string(std::string_view) noexcept;
template std::optional<Basis> from_string(std::string_view) noexcept;

}  // namespace nsa
