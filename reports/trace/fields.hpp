// Fields of what traces and summaries say of their recordings, for JSON both ways.
#pragma once

#include "nsa/schemas/fields/json.hpp"
#include "nsa/schemas/types.hpp"
#include "nsa/trace/summary.hpp"

namespace nsa {

template <>
std::optional<trace::ClockAlignment> from_string(std::string_view name) noexcept;

namespace trace {

/// A process of a trace of ours, and the ids under which its events are drawn.
struct DrawnProcess {
  std::vector<std::string> pids;
  ProcessInfo info;
};

/// The id under which the operations of a device are drawn.
struct DevicePid {
  std::string pid;
  std::int32_t device = 0;
};

/// A PythonFrame with its names.
struct DrawnFrame {
  bool operator==(const DrawnFrame&) const = default;
  std::string function, file;
  std::uint32_t line = 0, caller = 0;
};

/// What stands under the key "nsatune" of a trace of ours.
struct Recording {
  int version = 1;
  std::int64_t origin_ns = 0;  // added to every time
  std::uint64_t untimed_ops = 0;
  bool holds_overhead = true;
  std::vector<DrawnProcess> processes;
  std::vector<DevicePid> device_pids;
  std::optional<Clocks> clocks;
  std::vector<DrawnFrame> python_frames;  // from number 1
};

}  // namespace trace

namespace fields {

template <>
inline constexpr auto kFields<trace::Totals> =
    std::tuple{required("complete", &trace::Totals::complete),
               or_null("launches", &trace::Totals::launches),
               required("recorded", &trace::Totals::recorded),
               required("dropped", &trace::Totals::dropped),
               required("lost", &trace::Totals::lost),
               required("outside", &trace::Totals::outside),
               required("torn_bytes", &trace::Totals::torn_bytes)};

template <>
inline constexpr auto kFields<trace::Note> =
    std::tuple{required("what", &trace::Note::what), required("text", &trace::Note::text)};

template <>
inline constexpr auto kFields<trace::ProcessInfo> =
    std::tuple{required("pid", &trace::ProcessInfo::pid),
               optional("part", &trace::ProcessInfo::part),
               or_null("rank", &trace::ProcessInfo::rank),
               or_null("world_size", &trace::ProcessInfo::world_size),
               required("metadata", &trace::ProcessInfo::metadata),
               or_null("totals", &trace::ProcessInfo::totals),
               required("notes", &trace::ProcessInfo::notes)};

template <>
inline constexpr auto kFields<trace::Clocks> =
    std::tuple{required("alignment", &trace::Clocks::alignment),
               required("assumption", &trace::Clocks::assumption),
               or_null("spread_ns", &trace::Clocks::spread_ns)};

template <>
inline constexpr auto kFields<trace::DrawnProcess> =
    std::tuple{required("pids", &trace::DrawnProcess::pids), inlined(&trace::DrawnProcess::info)};

template <>
inline constexpr auto kFields<trace::DevicePid> = std::tuple{
    required("pid", &trace::DevicePid::pid), required("device", &trace::DevicePid::device)};

template <>
inline constexpr auto kFields<trace::DrawnFrame> = std::tuple{
    required("function", &trace::DrawnFrame::function), required("file", &trace::DrawnFrame::file),
    required("line", &trace::DrawnFrame::line), required("caller", &trace::DrawnFrame::caller)};

template <>
inline constexpr auto kFields<trace::Recording> =
    std::tuple{required("version", &trace::Recording::version),
               required("origin_ns", &trace::Recording::origin_ns),
               required("untimed_ops", &trace::Recording::untimed_ops),
               required("holds_overhead", &trace::Recording::holds_overhead),
               required("processes", &trace::Recording::processes),
               required("device_pids", &trace::Recording::device_pids),
               optional("clocks", &trace::Recording::clocks),
               unless_default("python_frames", &trace::Recording::python_frames)};

template <>
inline constexpr auto kFields<trace::RecordingRow> = std::tuple{
    required("pid", &trace::RecordingRow::pid), or_null("rank", &trace::RecordingRow::rank),
    inlined(&trace::RecordingRow::totals), or_null("all_there", &trace::RecordingRow::all_there),
    required("notes", &trace::RecordingRow::notes)};

}  // namespace fields
}  // namespace nsa
