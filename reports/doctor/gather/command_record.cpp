// What `doctor --record` writes: a line that says what it is, then a line for each reading.
#include "nsa/doctor/gather.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::doctor {
namespace {

[[noreturn]] void refuse(const std::string& file, std::int64_t line, const std::string& what) {
  throw InputError(clean(file) + ":" + std::to_string(line) + ": " + what);
}

void put(Json& to, const char* field, const std::optional<double>& value) {
  if (value) to[field] = *value;
}

struct Line {
  const Json& json;
  const std::string& file;
  std::int64_t number;

  std::optional<double> get(const char* field) const {
    const auto at = json.find(field);
    if (at == json.end()) return {};
    const double value = at->is_number() ? at->get<double>() : -1;
    if (!(value >= 0) || value > 1e18)
      refuse(file, number, std::string(field) + ": expected a number of 0 or more");
    return value;
  }
  double require(const char* field) const {
    const auto value = get(field);
    if (!value) refuse(file, number, std::string("the field ") + field + " is missing");
    return *value;
  }
  std::string text(const char* field) const {
    const auto at = json.find(field);
    return at != json.end() && at->is_string() ? clean(at->get_ref<const std::string&>()) : "";
  }
};

LoadSample sample_of(const Line& line) {
  LoadSample sample;
  sample.at_s = line.require("at_s");
  sample.gpu_percent = line.get("gpu_percent");
  sample.gpu_memory_bytes = line.get("gpu_memory_bytes");
  sample.cpu_percent = line.get("cpu_percent");
  sample.rss_bytes = line.get("rss_bytes");
  sample.log_lines = static_cast<std::int64_t>(line.get("log_lines").value_or(0));
  return sample;
}

void read_head(const Line& line, CommandEvidence& command) {
  if (line.require("nsatune_command") != 1)
    refuse(line.file, 1, "a recording of another version of the program");
  command.source = clean(line.file) + " (" + line.text("command") + ")";
  command.seconds = line.require("seconds");
  command.gpu_total_bytes = line.get("gpu_total_bytes");
  command.gpu_reason = line.text("gpu_reason");
  command.last_line_at_s = line.require("last_line_at_s");
  if (const auto code = line.get("exit_code")) command.exit_code = static_cast<int>(*code);
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
    if (!json.is_object()) refuse(file, number, "a record is an object");
    if (number == 1) {
      read_head({json, file, number}, command);
    } else {
      command.samples.push_back(sample_of({json, file, number}));
    }
  }
  return command;
}

std::string command_record(const CommandEvidence& command) {
  Json head{{"nsatune_command", 1},
            {"command", command.source},
            {"seconds", command.seconds},
            {"last_line_at_s", command.last_line_at_s},
            {"gpu_reason", command.gpu_reason}};
  put(head, "gpu_total_bytes", command.gpu_total_bytes);
  if (command.exit_code) head["exit_code"] = *command.exit_code;
  const auto line = [](const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  };
  std::string text = line(head);
  for (const LoadSample& s : command.samples) {
    Json json{{"at_s", s.at_s}, {"log_lines", s.log_lines}};
    put(json, "gpu_percent", s.gpu_percent);
    put(json, "gpu_memory_bytes", s.gpu_memory_bytes);
    put(json, "cpu_percent", s.cpu_percent);
    put(json, "rss_bytes", s.rss_bytes);
    text += line(json);
  }
  return text;
}

}  // namespace nsa::doctor
