// NAME=value lines: of a shell script, of `env`, of a log that shows how it was started.
#include <algorithm>
#include <cctype>

#include "nsa/doctor/gather.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::doctor {
namespace {

constexpr std::size_t kMaxVariables = 10'000;

bool letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }

std::size_t name_length(std::string_view text) {
  if (text.empty() || !letter(text.front())) return 0;
  const auto end = std::find_if_not(text.begin(), text.end(), [](char c) {
    return letter(c) || std::isdigit(static_cast<unsigned char>(c));
  });
  return static_cast<std::size_t>(end - text.begin());
}

/// The value that a shell makes of `text`: "${NAME:-1}" is 1 where nobody sets NAME before; what
/// else it puts in is known only when it runs.
Setting expanded(std::string_view text, const Settings& before) {
  Setting plain{clean(text)};
  if (text.find_first_of("$`") == text.npos) return plain;
  plain.known = false;
  if (!text.starts_with("${") || !text.ends_with('}')) return plain;
  text = text.substr(2, text.size() - 3);
  const std::size_t length = name_length(text);
  const std::string_view otherwise = text.substr(length);
  if (!otherwise.starts_with(":-") && !otherwise.starts_with(":=")) return plain;
  const auto set = before.find(text.substr(0, length));
  if (set != before.end() && !set->second.value.empty()) return set->second;
  if (otherwise.find_first_of("$`") != otherwise.npos) return plain;
  return {clean(otherwise.substr(2))};
}

/// Cuts the value off `rest`: in quotes, or up to a blank, ';' or the end.
Setting take_value(std::string_view& rest, const Settings& before) {
  const char quote = rest.empty() ? '\0' : rest.front();
  if (quote == '"' || quote == '\'') {
    const std::size_t end = rest.find(quote, 1);
    const std::string_view value = rest.substr(1, end == rest.npos ? rest.npos : end - 1);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    return quote == '"' ? expanded(value, before) : Setting{clean(value)};
  }
  const std::size_t end = std::min(rest.find_first_of(" \t;"), rest.size());
  const std::string_view value = rest.substr(0, end);
  rest.remove_prefix(end);
  return expanded(value, before);
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t;"), text.size()));
}

/// What `tune --emit env` writes above its settings: "# Settings of nsa-vibe for ..." first, and
/// for each stage "# attend_selected: masked", or "... left as it is: " and why.
constexpr std::string_view kEmittedHead = "# Settings of nsa-vibe for ";
constexpr std::string_view kLeftOpen = "left as it is";

/// Takes what a comment of such a file says of a stage.
void read_decision(std::string_view line, EnvironmentEvidence& into) {
  if (!line.starts_with("# ")) return;
  line.remove_prefix(2);
  const std::size_t length = name_length(line);
  if (length == 0 || !line.substr(length).starts_with(": ")) return;
  const std::string_view runs = line.substr(length + 2);
  if (runs.starts_with(kLeftOpen) || into.decided.size() >= kMaxVariables) return;
  into.decided[std::string(line.substr(0, length))] = clean(runs);
}

}  // namespace

bool read_assignments(std::string_view line, std::int64_t line_number, Settings& into) {
  skip_blanks(line);
  for (const std::string_view prefix : {"+ ", "$ ", "export ", "env "}) {
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    skip_blanks(line);
  }
  bool any = false;
  while (into.size() < kMaxVariables) {
    const std::size_t length = name_length(line);
    if (length == 0 || length >= line.size() || line[length] != '=') break;
    const std::string name(line.substr(0, std::min<std::size_t>(length, 200)));
    line.remove_prefix(length + 1);
    Setting setting = take_value(line, into);
    setting.line = line_number;
    into[name] = std::move(setting);
    any = true;
    skip_blanks(line);
  }
  return any;
}

EnvironmentEvidence parse_environment_file(std::string_view text, const std::string& file) {
  EnvironmentEvidence evidence;
  evidence.source = file;
  evidence.launch = true;
  const bool of_process = text.find('\0') != text.npos;  // /proc/PID/environ
  const char end = of_process ? '\0' : '\n';
  const bool emitted = text.starts_with(kEmittedHead);
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find(end), text.size());
    std::string_view line = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    ++number;
    if (of_process) {
      const std::size_t equals = line.find('=');
      if (name_length(line) == equals)
        evidence.variables[std::string(line.substr(0, equals))] = {clean(line.substr(equals + 1)),
                                                                   0};
      continue;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (emitted) read_decision(line, evidence);
    read_assignments(line, number, evidence.variables);
    if (evidence.variables.size() >= kMaxVariables)
      throw InputError(clean(file) + ":" + std::to_string(number) + ": more than " +
                       std::to_string(kMaxVariables) + " variables; give a file of an environment");
  }
  if (evidence.variables.empty())
    throw InputError(clean(file) +
                     ": holds no NAME=value; give a file of variables, or leave it out");
  return evidence;
}

}  // namespace nsa::doctor
