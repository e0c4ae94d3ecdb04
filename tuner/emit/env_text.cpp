// The env file: one line for each variable, and above each group what it rests on.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "nsa/schemas/error.hpp"
#include "nsa/tuner/emit.hpp"

namespace nsa::tuner {
namespace {

/// Text of a file or a device as one comment: no byte of it begins a line of its own.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

void comment(std::string& text, const std::string& line) { text += "# " + one_line(line) + "\n"; }

std::string head_of(const Emission& e) {
  std::string text;
  comment(text, fmt::format("Settings of {} for {}", e.project, e.of_class));
  comment(text, fmt::format("decided on {} from {}", e.device, e.source));
  comment(text, e.stand_ins ? "measured were rows of nsatune that stand in for " + e.project + "'s"
                            : "measured by " + e.executor);
  comment(text, "use: set -a; . FILE; set +a    or    docker run --env-file FILE");
  return text;
}

void add_stage(std::string& text, const EmittedStage& stage) {
  const std::string name(to_string(stage.stage));
  if (stage.runs.empty()) return comment(text, name + ": left as it is: " + stage.why);
  comment(text, name + ": " + stage.runs);
  if (stage.up_to)
    comment(text, fmt::format("  for lengths up to {} {}; write the file anew for longer ones",
                              to_string(stage.up_to->axis), stage.up_to->length));
  if (!stage.why.empty()) comment(text, "  " + stage.why);
  if (!stage.measured.empty()) comment(text, "  " + stage.measured);
  for (const std::string& line : {loss_text(stage), caution_text(stage)})
    if (!line.empty()) comment(text, "  " + line);
}

void add_reserve(std::string& text, const EmittedReserve& reserve) {
  comment(text, fmt::format("workspace of {}, allocated ahead{}", reserve.path,
                            reserve.bytes ? fmt::format(": {:.0f} MB",
                                                        1e-6 * static_cast<double>(*reserve.bytes))
                                          : ""));
  comment(text, reserve.measured.empty() ? "  the file does not tell what that saves"
                                         : "  saves " + reserve.measured);
}

}  // namespace

std::string loss_text(const EmittedStage& stage) {
  if (stage.runs.empty() || stage.exact) return "";
  const std::string lossy = "lossy: the switches cannot say the whole decision; ";
  if (!stage.loss) return lossy + "the file does not tell what this loses against it";
  return lossy + fmt::format("this loses {:.2f} % against it, the least of all settings",
                             100 * *stage.loss);
}

std::string caution_text(const EmittedStage& stage) {
  if (stage.runs.empty() || stage.caution.empty()) return "";
  return "caution: " + stage.caution;
}

std::string env_text(const Emission& e) {
  std::string text = head_of(e);
  std::set<std::string> written;
  const auto write = [&](const std::string& name) {
    const auto value = e.values.find(name);
    if (value != e.values.end() && written.insert(name).second)
      text += name + "=" + value->second + "\n";
  };
  for (const EmittedStage& stage : e.stages) {
    text += "\n";
    add_stage(text, stage);
    std::ranges::for_each(stage.variables, write);
  }
  for (const EmittedReserve& reserve : e.reserves) {
    text += "\n";
    add_reserve(text, reserve);
    std::ranges::for_each(reserve.variables, write);
  }
  text += "\n";
  for (const std::string& note : e.notes) comment(text, note);
  for (const auto& [name, value] : e.values) write(name);
  return text;
}

std::vector<std::string> parse_env_file(std::string_view text, const std::string& where) {
  std::vector<std::string> entries;
  std::map<std::string_view, std::size_t> places;  // of names among the entries
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    std::string_view entry = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    if (entry.ends_with('\r')) entry.remove_suffix(1);
    const std::size_t first = entry.find_first_not_of(" \t");
    if (first == entry.npos || entry[first] == '#') continue;
    const std::size_t equals = entry.find('=');
    const auto is_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    const bool named =
        equals != entry.npos && equals > 0 && std::ranges::all_of(entry.substr(0, equals), is_name);
    if (!named || entry.find('\0') != entry.npos)
      throw InputError(fmt::format("{}:{}: expected NAME=value or a comment", where, line));
    const auto [place, is_new] = places.try_emplace(entry.substr(0, equals), entries.size());
    if (is_new)
      entries.emplace_back(entry);
    else
      entries[place->second] = entry;
  }
  return entries;
}

}  // namespace nsa::tuner
