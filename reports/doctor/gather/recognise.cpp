// What a file is, by its content; the name decides only where the content leaves it open.
#include "nsa/doctor/gather.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::doctor {
namespace {

std::string_view next_line(std::string_view& text) {
  const std::size_t at = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool skipped(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == line.npos || line[first] == '#';
}

/// Sections of the users' configs at the left edge.
bool looks_like_yaml(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    for (const std::string_view key : {"model:", "nsa:", "runtime:", "train:"})
      if (line.starts_with(key)) return true;
    const bool inside = line.starts_with(' ') || line.starts_with("---") || skipped(line);
    const bool key = line.find(':') != line.npos && line.find(' ') > line.find(':');
    if (!inside && !key) return false;
  }
  return false;
}

bool looks_like_environment(std::string_view text) {
  bool any = false;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (skipped(line)) continue;
    Settings ignored;
    if (!read_assignments(line, 1, ignored)) return false;
    any = true;
    for (const auto& [name, setting] : ignored)
      if (name.find_first_of("abcdefghijklmnopqrstuvwxyz") != name.npos) return false;
  }
  return any;
}

/// An object a line: a heartbeat by its field, else a log of objects. One object alone is a trace.
FileKind lines_of_objects(std::string_view first, std::string_view rest) {
  if (!first.ends_with('}') || first.find("\"traceEvents\"") != first.npos) return FileKind::trace;
  if (first.find("\"msg\"") != first.npos) return FileKind::heartbeat;
  return next_line(rest).starts_with('{') ? FileKind::log : FileKind::trace;
}

}  // namespace

FileKind recognise(std::string_view head, const std::string& path) {
  if (head.starts_with("\x1f\x8b")) return FileKind::trace;
  if (head.starts_with("SQLite format 3")) return FileKind::sqlite;
  const std::string_view name = path;
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return FileKind::config;
  if (name.starts_with("/proc/") && name.ends_with("/environ"))
    throw InputError(clean(path) + ": holds variables of a process; give it with --env-file");
  if (head.find('\0') != head.npos)
    throw InputError(clean(path) +
                     ": is neither text nor a trace; give configs (YAML), logs, heartbeat JSONL, "
                     "traces or a results database");
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  if (first == head.npos) throw InputError(clean(path) + ": is empty");
  if (head[first] == '{') {
    std::string_view text = head.substr(first);
    const std::string_view line = next_line(text);
    if (line.starts_with("{\"nsatune_command\"")) return FileKind::command;
    return lines_of_objects(line, text);
  }
  if (name.ends_with(".json")) return FileKind::trace;  // which says what is wrong with it
  // "[debug] step 1" and "[rank1]: ..." are lines of a log, an array begins with an object.
  if (head[first] == '[') {
    const std::size_t second = head.find_first_not_of(" \t\r\n", first + 1);
    if (second == head.npos || head[second] == '{' || head[second] == ']') return FileKind::trace;
    return FileKind::log;
  }
  if (looks_like_yaml(head)) return FileKind::config;
  if (looks_like_environment(head)) return FileKind::environment;
  return FileKind::log;
}

}  // namespace nsa::doctor
