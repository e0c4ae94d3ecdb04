// How the fields of a Chrome trace are written.
#include <algorithm>
#include <array>
#include <charconv>

#include "decimal_time.hpp"
#include "sink.hpp"

namespace nsa::trace {
namespace {

/// The number of 12, "12" and 12.0 as it would be written without either.
std::string_view whole_number(std::string_view token) {
  token = without_quotes(token);
  const std::size_t point = token.find('.');
  if (point == token.npos || point == 0 || point + 1 == token.size()) return token;
  return token.find_first_not_of('0', point + 1) == token.npos ? token.substr(0, point) : token;
}

template <class Number>
bool parse(std::string_view token, Number& out) {
  const char* const end = token.data() + token.size();
  const auto [rest, error] = std::from_chars(token.data(), end, out);
  return error == std::errc{} && rest == end;
}

/// "[8, 1, 1]"; nothing where it is no such list.
std::optional<std::array<std::uint32_t, 3>> three_numbers(std::string_view list) {
  std::array<std::uint32_t, 3> out{};
  const auto skip_blanks = [&] {
    list.remove_prefix(std::min(list.find_first_not_of(" \n\r\t"), list.size()));
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!list.starts_with(i == 0 ? '[' : ',')) return {};
    list.remove_prefix(1);
    skip_blanks();
    const auto [rest, error] = std::from_chars(list.data(), list.data() + list.size(), out[i]);
    if (error != std::errc{}) return {};
    list.remove_prefix(static_cast<std::size_t>(rest - list.data()));
    skip_blanks();
  }
  return list == "]" ? std::optional(out) : std::nullopt;
}

}  // namespace

std::int64_t JsonSink::time_of(const JsonEvent& event) const {
  if (event.time.empty()) fail_(event.at, "an event without \"ts\"");
  const auto ns = microseconds_to_ns(without_quotes(event.time));
  if (!ns) fail_(event.time.data(), "\"ts\" is not a number of microseconds, or too large");
  if (*ns > kMaxTimeNs || *ns < -kMaxTimeNs) fail_(event.time.data(), "\"ts\" is out of range");
  return *ns;
}

JsonSink::Times JsonSink::times_of(const JsonEvent& event) const {
  const std::int64_t start = time_of(event);
  if (event.duration.empty()) fail_(event.at, "a complete event (ph X) without \"dur\"");
  const auto ns = microseconds_to_ns(without_quotes(event.duration));
  if (!ns) fail_(event.duration.data(), "\"dur\" is not a number of microseconds, or too large");
  if (*ns < 0) fail_(event.duration.data(), "\"dur\" is negative");
  if (*ns > kMaxDurationNs) fail_(event.duration.data(), "\"dur\" is longer than 104 days");
  return {start, start + *ns};
}

void JsonSink::check_end(std::int64_t start_ns, std::int64_t end_ns, const JsonEvent& event) const {
  if (end_ns < start_ns) fail_(event.at, "an end that is before its begin");
  if (end_ns - start_ns > kMaxDurationNs) fail_(event.at, "an end 104 days after its begin");
}

/// Absent is 0: traces without ids have no launches, not wrong ones. Some writers put numbers into
/// quotes, or write them as 12.0.
std::uint64_t JsonSink::identity(std::string_view token, const char* what,
                                 const JsonEvent& event) const {
  token = whole_number(token);
  if (token.empty() || token.starts_with('-') || token == "null") return 0;
  std::uint64_t value = 0;
  if (!parse(token, value)) {
    fail_(event.at,
          std::string("an event whose \"") + what + "\" is not a whole number of 64 bits");
  }
  return value;
}

std::uint32_t JsonSink::small(std::string_view token, const char* what,
                              const JsonEvent& event) const {
  const std::uint64_t value = identity(token, what, event);
  if (value > UINT32_MAX)
    fail_(event.at, std::string("an event whose \"") + what + "\" is too large");
  return static_cast<std::uint32_t>(value);
}

/// From args; of a copy between GPUs the one that it went to; else the number of the row's process,
/// which merging tools lengthen ("[TP00] 0").
std::int32_t JsonSink::device_of(const JsonEvent& event) {
  std::string_view token = event.device;
  if (token.empty() || token == "null") token = event.in_device;
  const std::int64_t id =
      token.empty() ? row_number(event.process) : number(token, "device", event);
  if (id < INT32_MIN || id > INT32_MAX) fail_(event.at, "a device id that is out of range");
  return static_cast<std::int32_t>(id);
}

/// 7 of 7, of "7", of "stream 7" and of "[TP00] 7"; a text without a number gets one of its own,
/// which no stream and no GPU has.
std::int64_t JsonSink::row_number(std::string_view token) {
  constexpr std::int64_t kFirstOwn = 1'000'000;
  const std::string_view text = whole_number(token);
  std::int64_t value = 0;
  if (text.empty() || parse(text, value)) return value;
  const std::size_t digits = text.find_last_not_of("0123456789") + 1;
  if (digits < text.size() && parse(text.substr(digits), value)) return value;
  const auto next = kFirstOwn + static_cast<std::int64_t>(row_numbers_.size());
  return row_numbers_.emplace(text, next).first->second;
}

std::int64_t JsonSink::number(std::string_view token, const char* what,
                              const JsonEvent& event) const {
  std::int64_t value = 0;
  token = whole_number(token);
  if (!token.empty() && token != "null" && !parse(token, value))
    fail_(event.at, std::string("an event whose \"") + what + "\" is not a whole number");
  return value;
}

std::int64_t JsonSink::number_or_none(std::string_view token) {
  std::int64_t value = -1;
  return parse(token, value) ? value : -1;
}

/// From args, else from the row that it is drawn in.
std::int64_t JsonSink::stream_of(const JsonEvent& event) {
  if (!event.stream.empty() && event.stream != "null") return number(event.stream, "stream", event);
  return row_number(event.thread);
}

std::uint32_t JsonSink::thread_of(const JsonEvent& event) {
  const std::string_view thread = event.own_thread.empty() ? event.thread : event.own_thread;
  thread_key_.assign(event.process).append(1, ' ').append(thread);
  if (thread_key_ == last_key_ && !threads_.empty()) return last_thread_;
  const auto next = static_cast<std::uint32_t>(threads_.size());
  const auto [at, added] = threads_.emplace(thread_key_, next);
  if (added)
    trace_.threads.push_back(
        {std::string(without_quotes(event.process)), std::string(without_quotes(thread)), {}});
  last_thread_ = at->second;
  last_key_ = thread_key_;
  return last_thread_;
}

/// A small number for the pid, which is no process yet: the GPU's rows have pids of their own.
std::uint32_t JsonSink::pid_of(const JsonEvent& event) {
  if (event.process == last_pid_ && !pids_.empty()) return last_pid_number_;
  last_pid_ = event.process;
  const auto next = static_cast<std::uint32_t>(pids_.size());
  const auto [at, added] = pids_.emplace(last_pid_, next);
  if (added) pid_texts_.emplace_back(without_quotes(last_pid_));
  return last_pid_number_ = at->second;
}

std::uint32_t JsonSink::shape_of(const JsonEvent& event) {
  if (event.grid.empty() && event.block.empty()) return 0;
  LaunchShape shape;
  const auto read = [&](std::string_view list, const char* what, auto& into) {
    if (list.empty()) return;
    const auto three = three_numbers(list);
    if (!three)
      fail_(list.data(), std::string("\"") + what + "\" is not a list of three whole numbers");
    into = *three;
  };
  read(event.grid, "grid", shape.grid);
  read(event.block, "block", shape.block);
  read(event.cluster, "cluster", shape.cluster);
  shape.registers = small(event.registers, "registers per thread", event);
  shape.shared_bytes = small(event.shared_memory, "shared memory", event);
  return shapes_.intern(shape);
}

}  // namespace nsa::trace
