// The only file that includes simdjson, which takes seconds to compile.
#include "event.hpp"

#include <simdjson.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "decimal_time.hpp"
#include "scan.hpp"

namespace nsa::trace {
namespace {

namespace ondemand = simdjson::ondemand;

struct BadValue {
  const char* at;
  const char* what;
};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

/// The token of a value, or the bracket that opens it. Where a value is missing at the end,
/// simdjson (3.0) takes one after its last index, whose length is 0 or wraps around.
std::string_view token_of(ondemand::value value) {
  constexpr std::size_t kLongest = std::size_t{1} << 30;
  const std::string_view token = value.raw_json_token();
  if (token.empty() || token.size() > kLongest)
    throw BadValue{token.data(), "a value is missing where the JSON ends"};
  return trimmed(token);
}

ondemand::field taken(simdjson::simdjson_result<ondemand::field> field) {
  ondemand::field inner;
  if (const simdjson::error_code error = std::move(field).get(inner))
    throw simdjson::simdjson_error(error);
  return inner;
}

/// simdjson 3.6, as Ubuntu 24.04 has it, must be told that halves of surrogate pairs are
/// errors; 3.1 of Debian 12 knows nothing else.
template <class Field>
std::string_view unescaped_key(Field& field) {
  if constexpr (requires { field.unescaped_key(false); })
    return field.unescaped_key(false);
  else
    return field.unescaped_key();
}

/// A field name; one without escapes is not copied.
std::string_view key_of(ondemand::field& field) {
  const char* const raw = field.key().raw();
  const char* end = raw;
  bool escaped = false;
  for (; *end != '"'; ++end) escaped |= *end == '\\';  // keys are short
  if (!escaped) return {raw, static_cast<std::size_t>(end - raw)};
  return unescaped_key(field);
}

/// Checks a value of any kind, bad JSON being bad wherever it stands. Its token, or the bracket
/// that opens it.
std::string_view checked(ondemand::value value) {
  const std::string_view token = token_of(value);
  switch (token.front()) {
    case '{':
      for (auto field : value.get_object()) {
        ondemand::field inner = taken(field);
        key_of(inner);
        checked(inner.value());
      }
      return token.substr(0, 1);
    case '[':
      for (auto element : value.get_array()) checked(element.value());
      return token.substr(0, 1);
    case '"':
      if (token.find('\\') != token.npos) (void)std::string_view(value.get_string());
      return token;
    default:
      // Kineto wrote inf for the bandwidth of a copy that took no time (pytorch/kineto#105).
      if (!is_json_number(token) && token != "true" && token != "false" && token != "null" &&
          token != "inf")
        throw BadValue{token.data(), "this is not a JSON value (NaN and Infinity are none)"};
      return token;
  }
}

/// Of the token of a list all of it, as long as it holds no other list.
std::string_view flat(std::string_view token) {
  if (token != "[") return token;
  const auto* const end = static_cast<const char*>(std::memchr(token.data(), ']', SIZE_MAX >> 1));
  return {token.data(), static_cast<std::size_t>(end - token.data()) + 1};
}

std::string_view text_of(ondemand::value value) {
  const std::string_view token = token_of(value);
  if (token.front() != '"') throw BadValue{token.data(), "expected a string"};
  if (token.find('\\') == token.npos) return token.substr(1, token.size() - 2);
  return value.get_string();
}

struct ArgumentName {
  std::string_view name;
  std::string_view JsonEvent::*where;
  bool is_text = false;
};
/// Arguments of operators and collectives that are kept as they stand there.
constexpr std::string_view JsonEvent::*kKept = &JsonEvent::kept;
/// Those of one length stand together: most keys are none of these.
constexpr std::array kArguments{
    ArgumentName{"Seq", kKept},
    ArgumentName{"Addr", &JsonEvent::address},
    ArgumentName{"grid", &JsonEvent::grid},
    ArgumentName{"name", &JsonEvent::row_name, true},
    ArgumentName{"bytes", &JsonEvent::bytes},
    ArgumentName{"Bytes", &JsonEvent::bytes},
    ArgumentName{"block", &JsonEvent::block},
    ArgumentName{"frame", &JsonEvent::frame},
    ArgumentName{"stage", &JsonEvent::stage, true},
    ArgumentName{"dtype", kKept},
    ArgumentName{"device", &JsonEvent::device},
    ArgumentName{"stream", &JsonEvent::stream},
    ArgumentName{"own_tid", &JsonEvent::own_thread},
    ArgumentName{"context", &JsonEvent::context},
    ArgumentName{"cluster", &JsonEvent::cluster},
    ArgumentName{"samples", &JsonEvent::samples},
    ArgumentName{"graph id", &JsonEvent::graph},
    ArgumentName{"inDevice", &JsonEvent::in_device},
    ArgumentName{"Comms Id", kKept},
    ArgumentName{"Src Rank", kKept},
    ArgumentName{"Dst Rank", kKept},
    ArgumentName{"Device Id", &JsonEvent::device},
    ArgumentName{"period_ns", &JsonEvent::period},
    ArgumentName{"Python id", &JsonEvent::python_id},
    ArgumentName{"Call stack", &JsonEvent::stack, true},
    ArgumentName{"Input Dims", kKept},
    ArgumentName{"Input dims", kKept},
    ArgumentName{"Input type", kKept},
    ArgumentName{"Group size", kKept},
    ArgumentName{"Device Type", &JsonEvent::device_type},
    ArgumentName{"correlation", &JsonEvent::correlation},
    ArgumentName{"External id", &JsonEvent::external},
    ArgumentName{"external id", &JsonEvent::external},
    ArgumentName{"kernel_file", kKept},
    ArgumentName{"kernel_hash", kKept},
    ArgumentName{"graph node id", &JsonEvent::graph_node},
    ArgumentName{"shared memory", &JsonEvent::shared_memory},
    ArgumentName{"Fwd thread id", &JsonEvent::forward_thread},
    ArgumentName{"Input Strides", kKept},
    ArgumentName{"In msg nelems", kKept},
    ArgumentName{"In split size", kKept},
    ArgumentName{"wait_on_stream", &JsonEvent::wait_on_stream},
    ArgumentName{"Total Reserved", &JsonEvent::total_reserved},
    ArgumentName{"Out msg nelems", kKept},
    ArgumentName{"Out split size", kKept},
    ArgumentName{"kernel_backend", kKept},
    ArgumentName{"Total Allocated", &JsonEvent::total_allocated},
    ArgumentName{"Sequence number", &JsonEvent::sequence},
    ArgumentName{"Concrete Inputs", kKept},
    ArgumentName{"Collective name", kKept},
    ArgumentName{"Python module id", &JsonEvent::python_module},
    ArgumentName{"Python parent id", &JsonEvent::python_parent},
    ArgumentName{"Process Group Name", kKept},
    ArgumentName{"Process Group Ranks", kKept},
    ArgumentName{"NCCL communicator ID", kKept},
    ArgumentName{"Message size [bytes]", kKept},
    ArgumentName{"registers per thread", &JsonEvent::registers},
    ArgumentName{"Process Group Description", kKept},
    ArgumentName{"wait_on_cuda_event_record_corr_id", &JsonEvent::event_record},
};

constexpr std::size_t kLongestArgument = kArguments.back().name.size();

/// The first of kArguments that is as long as the index; the next entry is past the last.
constexpr std::array<std::uint8_t, kLongestArgument + 3> first_of_length() {
  std::array<std::uint8_t, kLongestArgument + 3> first{};
  for (std::size_t length = 0; length < first.size(); ++length)
    for (const ArgumentName& argument : kArguments) first[length] += argument.name.size() < length;
  return first;
}
constexpr std::array<std::uint8_t, kLongestArgument + 3> kFirstOfLength = first_of_length();

/// The argument of that name; nullptr for all that nobody needs.
const ArgumentName* argument_named(std::string_view key) {
  if (key.size() + 1 >= kFirstOfLength.size()) return nullptr;
  const std::size_t end = kFirstOfLength[key.size() + 1];
  for (std::size_t i = kFirstOfLength[key.size()]; i < end; ++i)
    if (key == kArguments[i].name) return &kArguments[i];
  return nullptr;
}

/// All of a value that was checked: of a list up to the bracket that closes it.
std::string_view whole(std::string_view token) {
  if (token != "[" && token != "{") return token;
  constexpr std::size_t kMost = SIZE_MAX >> 1;
  const ValueScan found = scan_values(std::string_view(token.data(), kMost), false);
  return {token.data(), found.end};
}

void keep(std::string_view key, std::string_view token, std::string& kept) {
  if (!kept.empty()) kept += ',';
  kept.append(1, '"').append(key).append("\":").append(whole(token));
}

void read_argument(std::string_view key, ondemand::value value, JsonEvent& out, std::string& kept) {
  const ArgumentName* const known = argument_named(key);
  if (known && known->is_text && token_of(value).front() == '"') {
    out.*known->where = text_of(value);
    return;
  }
  const std::string_view token = checked(value);
  if (out.first_key.empty()) out.first_key = key, out.first_value = token;
  if (!known || known->is_text) return;
  if (known->where == kKept) return keep(key, token, kept);
  out.*known->where = flat(token);
}

void read_arguments(ondemand::value value, JsonEvent& out, std::string& kept) {
  const std::string_view token = token_of(value);
  if (token.front() != '{') {
    if (checked(value) != "null") throw BadValue{token.data(), "\"args\" is not an object"};
    return;
  }
  for (auto field : value.get_object()) {
    ondemand::field inner = taken(field);
    const std::string_view key = key_of(inner);
    read_argument(key, inner.value(), out, kept);
  }
}

/// Of a length that the compiler knows: no call to compare.
template <std::size_t N>
bool is(std::string_view key, const char (&name)[N]) {
  return key.size() == N - 1 && std::memcmp(key.data(), name, N - 1) == 0;
}

void read_field(std::string_view key, ondemand::value value, JsonEvent& out, std::string& kept) {
  if (is(key, "ph"))
    out.phase = text_of(value);
  else if (is(key, "cat"))
    out.category = text_of(value);
  else if (is(key, "name"))
    out.name = text_of(value);
  else if (is(key, "ts"))
    out.time = checked(value);
  else if (is(key, "dur"))
    out.duration = checked(value);
  else if (is(key, "pid"))
    out.process = checked(value);
  else if (is(key, "tid"))
    out.thread = checked(value);
  else if (is(key, "args"))
    read_arguments(value, out, kept);
  else if (is(key, "id"))
    out.id = checked(value);
  else
    checked(value);
}

JsonEvent event_of(ondemand::value value, std::string& kept) {
  JsonEvent event;
  kept.clear();
  const std::string_view token = token_of(value);
  event.at = token.data();
  if (token.front() != '{') throw BadValue{event.at, "expected an event, which is an object"};
  for (auto field : value.get_object()) {
    ondemand::field inner = taken(field);
    const std::string_view key = key_of(inner);
    read_field(key, inner.value(), event, kept);
  }
  event.kept = kept;
  return event;
}

}  // namespace

struct JsonEventParser::State {
  ondemand::parser parser;
  std::string kept;  // of the event that is being read
};

JsonEventParser::JsonEventParser() : state_(std::make_unique<State>()) {
  static_assert(kPadding >= simdjson::SIMDJSON_PADDING);
}
JsonEventParser::~JsonEventParser() = default;

template <class Visit>
void JsonEventParser::for_each(std::string_view array, const Fail& fail, Visit visit) {
  ondemand::document document;
  const simdjson::padded_string_view padded(array.data(), array.size(), array.size() + kPadding);
  const simdjson::error_code error = state_->parser.iterate(padded).get(document);
  if (error) fail(array.data(), simdjson::error_message(error));
  try {
    for (auto element : document.get_array()) visit(element.value());
    const char* rest = nullptr;
    if (!document.current_location().get(rest)) fail(rest, "brackets that do not match");
  } catch (const BadValue& bad) {
    fail(bad.at, bad.what);
  } catch (const simdjson::simdjson_error& e) {
    const char* at = array.data();
    if (document.current_location().get(at)) at = array.data();
    fail(at, e.what());
  }
}

void JsonEventParser::parse(std::string_view array, const Each& each, const Fail& fail) {
  for_each(array, fail, [&](ondemand::value value) { each(event_of(value, state_->kept)); });
}

void JsonEventParser::check(std::string_view array, const Fail& fail) {
  for_each(array, fail, [](ondemand::value value) { checked(value); });
}

}  // namespace nsa::trace
