// How the fields of a Chrome trace are written.
#include <algorithm>
#include <charconv>

#include "decimal_time.hpp"
#include "json_sink.hpp"

namespace nsa::trace {
namespace {

std::string_view without_quotes(std::string_view token) {
  return token.starts_with('"') ? token.substr(1, token.size() - 2) : token;
}

template <class Number>
bool parse(std::string_view token, Number& out) {
  const char* const end = token.data() + token.size();
  const auto [rest, error] = std::from_chars(token.data(), end, out);
  return error == std::errc{} && rest == end;
}

}  // namespace

std::int64_t JsonSink::time_of(const JsonEvent& event) const {
  if (event.time.empty()) fail_(event.at, "an event without \"ts\"");
  const auto ns = microseconds_to_ns(without_quotes(event.time));
  if (!ns) fail_(event.time.data(), "\"ts\" is no number of microseconds, or too large");
  if (*ns > kMaxTimeNs || *ns < -kMaxTimeNs) fail_(event.time.data(), "\"ts\" is out of range");
  return *ns;
}

JsonSink::Times JsonSink::times_of(const JsonEvent& event) const {
  const std::int64_t start = time_of(event);
  if (event.duration.empty()) fail_(event.at, "a complete event (ph X) without \"dur\"");
  const auto ns = microseconds_to_ns(without_quotes(event.duration));
  if (!ns) fail_(event.duration.data(), "\"dur\" is no number of microseconds, or too large");
  if (*ns < 0) fail_(event.duration.data(), "\"dur\" is negative");
  if (*ns > kMaxDurationNs) fail_(event.duration.data(), "\"dur\" is longer than 104 days");
  return {start, start + *ns};
}

/// Absent is 0: traces without ids have no launches, not wrong ones.
std::uint64_t JsonSink::identity(std::string_view token, const char* what,
                                 const JsonEvent& event) const {
  if (token.empty() || token.starts_with('-')) return 0;
  std::uint64_t value = 0;
  if (!parse(token, value)) {
    fail_(event.at, std::string("an event whose \"") + what + "\" is no whole number of 64 bits");
  }
  return value;
}

std::int64_t JsonSink::number(std::string_view token, const char* what,
                              const JsonEvent& event) const {
  std::int64_t value = 0;
  if (!token.empty() && !parse(without_quotes(token), value))
    fail_(event.at, std::string("an event whose \"") + what + "\" is no whole number");
  return value;
}

/// From args, else from the row that it is drawn in: 7 or "stream 7".
std::int64_t JsonSink::stream_of(const JsonEvent& event) const {
  if (!event.stream.empty()) return number(event.stream, "stream", event);
  std::string_view row = without_quotes(event.thread);
  if (row.starts_with("stream ")) row.remove_prefix(7);
  return number(row, "tid", event);
}

std::uint32_t JsonSink::thread_of(const JsonEvent& event) {
  thread_key_.assign(event.process).append(1, ' ').append(event.thread);
  if (thread_key_ == last_key_ && !threads_.empty()) return last_thread_;
  const auto next = static_cast<std::uint32_t>(threads_.size());
  last_thread_ = threads_.emplace(thread_key_, next).first->second;
  last_key_ = thread_key_;
  return last_thread_;
}

}  // namespace nsa::trace
