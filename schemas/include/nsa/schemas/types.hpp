// The words that all parts share. Names in C++, JSON, SQL and on the command line are the same.
// Functions share nothing: threads may call them at the same time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nsa {

/// Storage type of a tensor. Accumulation is fp32, or fp64 where storage is fp64.
enum class Dtype : std::uint8_t { fp64, fp32, bf16, fp16, int32 };
enum class Direction : std::uint8_t { forward, backward };
/// prefill: no cached tokens. chunked_prefill: several new tokens after cached ones.
/// decode: one new token per sequence.
enum class Phase : std::uint8_t { prefill, chunked_prefill, decode };
enum class Backend : std::uint8_t { cpu, cuda };

/// One stage of NSA attention, in the order in which they run, then the composites above them.
/// The names are also the NVTX range names and the keys of decisions.
enum class Stage : std::uint8_t {
  project_rope,
  compress,
  score,
  ranges,
  attend_compressed,
  attend_selected,
  attend_window,
  gate_combine,
  out_proj,
  attention,
  layer,
  model,
};
inline constexpr std::size_t kStageCount = 12;

/// Where a problem's selected blocks come from. `random`: independent per query. `smooth`: a query
/// keeps 95 % of its neighbour's blocks. `recorded`: computed by the score stage or given.
enum class SelectionPattern : std::uint8_t { random, smooth, recorded };

/// How a launch was made, and by which clock it was timed.
enum class LaunchMode : std::uint8_t { eager, graph };
enum class Timer : std::uint8_t { events, cupti, host };

/// What became of one experiment.
enum class Outcome : std::uint8_t {
  ok,
  unsupported,
  not_built,
  out_of_memory,
  timeout,
  crashed,
  bad_reply,
  noisy,
};
/// What the oracle said of the output that was timed.
enum class Verification : std::uint8_t { verified, wrong_result, unverified };

/// The axis of a decision, and so the unit of its ranges (all in tokens):
/// seq_len: new tokens of the longest sequence; context_len: cached tokens of the longest sequence;
/// row_len: the longest row of keys, min(seq_len + context_len, window);
/// compressed_len: compressed tokens that the last query sees.
enum class Axis : std::uint8_t { seq_len, context_len, row_len, compressed_len };

/// Name of an enumerator, e.g. to_string(Dtype::bf16) == "bf16".
std::string_view to_string(Dtype value) noexcept;
std::string_view to_string(Direction value) noexcept;
std::string_view to_string(Phase value) noexcept;
std::string_view to_string(Backend value) noexcept;
std::string_view to_string(Stage value) noexcept;
std::string_view to_string(SelectionPattern value) noexcept;
std::string_view to_string(LaunchMode value) noexcept;
std::string_view to_string(Timer value) noexcept;
std::string_view to_string(Outcome value) noexcept;
std::string_view to_string(Verification value) noexcept;
std::string_view to_string(Axis value) noexcept;

/// The enumerator of that name, or nothing. Specialised for every enum above.
template <class Enum>
std::optional<Enum> from_string(std::string_view name) noexcept;

/// Bytes of one element: 8, 4, 2, 2, 4.
constexpr std::size_t size_of(Dtype dtype) noexcept {
  constexpr std::array<std::size_t, 5> kBytes{8, 4, 2, 2, 4};
  return kBytes[static_cast<std::size_t>(dtype)];
}

}  // namespace nsa
