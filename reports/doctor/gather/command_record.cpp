// What `doctor --record` writes: a line that says what it is, then a line for each reading.
#include "nsa/doctor/gather.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/fields/json.hpp"

namespace nsa::fields {

template <>
inline constexpr auto kFields<doctor::CommandEvidence> =
    std::tuple{optional("command", &doctor::CommandEvidence::source),
               required("seconds", &doctor::CommandEvidence::seconds),
               required("last_line_at_s", &doctor::CommandEvidence::last_line_at_s),
               optional("gpu_reason", &doctor::CommandEvidence::gpu_reason),
               optional("gpu_total_bytes", &doctor::CommandEvidence::gpu_total_bytes),
               optional("exit_code", &doctor::CommandEvidence::exit_code)};

template <>
inline constexpr auto kFields<doctor::LoadSample> =
    std::tuple{required("at_s", &doctor::LoadSample::at_s),
               optional("log_lines", &doctor::LoadSample::log_lines),
               optional("gpu_percent", &doctor::LoadSample::gpu_percent),
               optional("gpu_memory_bytes", &doctor::LoadSample::gpu_memory_bytes),
               optional("cpu_percent", &doctor::LoadSample::cpu_percent),
               optional("rss_bytes", &doctor::LoadSample::rss_bytes)};

}  // namespace nsa::fields

namespace nsa::doctor {
namespace {

constexpr int kVersion = 1;
constexpr const char* kVersionField = "nsatune_command";

[[noreturn]] void refuse(const std::string& file, std::int64_t line, const std::string& what) {
  throw InputError(clean(file) + ":" + std::to_string(line) + ": " + what);
}

/// Whether a figure is one that a recording can hold.
template <class T>
bool is_sound(const T& figure) {
  if constexpr (std::is_arithmetic_v<T>) {
    return figure >= 0 && static_cast<double>(figure) <= 1e18;
  } else {
    return true;
  }
}
template <class T>
bool is_sound(const std::optional<T>& figure) {
  return !figure || is_sound(*figure);
}

/// Calls `read`; what it refuses is said of the line.
template <class Read>
void read_at(const std::string& file, std::int64_t line, const Read& read) {
  try {
    read();
  } catch (const InputError& error) {
    std::string_view what = error.what();
    if (what.starts_with(": ")) what.remove_prefix(2);  // of the whole object: without a pointer
    refuse(file, line, std::string(what));
  }
}

/// The line `json` of the file as what it describes.
template <class T>
T read_line(const Json& json, const std::string& file, std::int64_t line) {
  T read;
  read_at(file, line, [&] { fields::read_object(json, read); });
  fields::each_field(read, [&](const auto& field, const auto& figure) {
    if (!is_sound(figure)) refuse(file, line, std::string(field.name) + ": out of range");
  });
  return read;
}

CommandEvidence read_head(const Json& json, const std::string& file) {
  int version = 0;
  read_at(file, 1, [&] { fields::require(json, kVersionField, version); });
  if (version != kVersion) refuse(file, 1, "a recording of another version of the program");
  CommandEvidence command = read_line<CommandEvidence>(json, file, 1);
  command.source = clean(file) + " (" + clean(command.source) + ")";
  command.gpu_reason = clean(command.gpu_reason);
  return command;
}

}  // namespace

CommandEvidence parse_command_record(std::string_view text, const std::string& file) {
  CommandEvidence command;
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    Json json;
    try {
      json = parse_json(line, clean(file));
    } catch (const InputError&) {
      refuse(file, number, "no JSON record");
    }
    if (number == 1) {
      command = read_head(json, file);
    } else {
      command.samples.push_back(read_line<LoadSample>(json, file, number));
    }
  }
  return command;
}

std::string command_record(const CommandEvidence& command) {
  const auto line = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  };
  Json head{{kVersionField, kVersion}};
  head.update(fields::object_of(command));
  std::string text = line(head);
  for (const LoadSample& sample : command.samples) text += line(fields::object_of(sample));
  return text;
}

}  // namespace nsa::doctor
