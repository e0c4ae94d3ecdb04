// One element of traceEvents as it stands there. What a field means, and whether it may be so, is
// decided where it is used: the same key is a number in one category and a text in another.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace nsa::trace {

/// Texts are unescaped; tokens are as in the file ("12", "\"stream 7\"", "null"); empty = absent.
struct JsonEvent {
  const char* at = nullptr;  // where it begins, for messages
  std::string_view phase, category, name;
  std::string_view time, duration, process, thread;  // tokens
  std::string_view id;
  // Tokens of "args"; a list is one with all that it holds.
  std::string_view correlation, device, in_device, stream, bytes, address, device_type;
  std::string_view total_allocated, total_reserved;
  std::string_view context, graph, graph_node, registers, shared_memory, grid, block, cluster;
  std::string_view own_thread;  // the thread, where the event is drawn in a row of its own
  std::string_view external, sequence, forward_thread;
  std::string_view wait_on_stream, event_record;  // of a wait for an event
  std::string_view kept;  // members of "args" that are carried over as they are, joined by commas
  std::string_view python_id, python_parent, python_module;
  std::string_view frame, samples, period;  // where a thread stood
  std::string_view stage, stack, row_name;  // texts of "args"; empty where they are none
  std::string_view first_key, first_value;
};

/// A token without the quotation marks of a text.
inline std::string_view without_quotes(std::string_view token) {
  return token.starts_with('"') ? token.substr(1, token.size() - 2) : token;
}

/// Parses arrays of events. Its buffers are kept from one call to the next.
class JsonEventParser {
 public:
  static constexpr std::size_t kPadding = 64;  // readable bytes that have to follow a text
  using Each = std::function<void(const JsonEvent&)>;
  /// Says what is wrong, and where in the text; must throw.
  using Fail = std::function<void(const char* at, const std::string& what)>;

  JsonEventParser();
  ~JsonEventParser();
  JsonEventParser(const JsonEventParser&) = delete;
  JsonEventParser& operator=(const JsonEventParser&) = delete;

  /// Calls `each` for every element of `array`, "[{...},...]"; what the event views lives until the
  /// next call. Every value is checked, needed or not.
  void parse(std::string_view array, const Each& each, const Fail& fail);
  /// Checks an array of whole values of any kind.
  void check(std::string_view array, const Fail& fail);

 private:
  struct State;
  template <class Visit>
  void for_each(std::string_view array, const Fail& fail, Visit visit);
  std::unique_ptr<State> state_;
};

}  // namespace nsa::trace
