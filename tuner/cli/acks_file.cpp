#include "acks_file.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <tuple>

#include "night_time.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/tuner/yaml_text.hpp"

namespace nsa::cli {
namespace {

constexpr std::array<const char*, 4> kKeys{"series", "commits", "reason", "until"};

[[noreturn]] void refuse(const std::string& path, const YAML::Mark& mark, const std::string& what) {
  throw InputError(fmt::format("{}:{}: {}", path, mark.line + 1, what));
}

void check_keys(const std::string& path, const YAML::Node& entry) {
  if (!entry.IsMap())
    refuse(path, entry.Mark(), "an ack is a map with series, commits, reason, until");
  std::vector<std::string> seen;
  for (const auto& item : entry) {
    if (!item.first.IsScalar()) refuse(path, item.first.Mark(), "a key is a word");
    const std::string& key = item.first.Scalar();
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      refuse(path, item.first.Mark(),
             fmt::format("no key '{:.60}'; there are series, commits, reason and until", key));
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      refuse(path, item.first.Mark(), fmt::format("'{}' stands twice", key));
    seen.push_back(key);
  }
}

std::string text_of(const std::string& path, const YAML::Node& entry, const char* key) {
  const YAML::Node value = entry[key];
  if (!value) refuse(path, entry.Mark(), fmt::format("the ack has no '{}'", key));
  if (!value.IsScalar() || value.Scalar().empty())
    refuse(path, value.Mark(), fmt::format("'{}' is no text", key));
  return value.Scalar();
}

nightly::Ack ack_of(const std::string& path, const YAML::Node& entry) {
  check_keys(path, entry);
  nightly::Ack ack;
  ack.series = text_of(path, entry, "series");
  ack.reason = text_of(path, entry, "reason");
  ack.until = text_of(path, entry, "until");
  if (!is_date(ack.until))
    refuse(path, entry["until"].Mark(),
           fmt::format("until: '{:.60}' is no date; 2026-12-31 is one", ack.until));
  const std::string commits = text_of(path, entry, "commits");
  set_commits(ack, commits, fmt::format("{}:{}: commits", path, entry["commits"].Mark().line + 1));
  return ack;
}

std::vector<nightly::Ack> parse_acks(const std::string& text, const std::string& path) {
  const YAML::Node document = tuner::load_yaml(text, path);
  if (!document || document.IsNull()) return {};
  if (!document.IsSequence())
    refuse(path, document.Mark(), "is no list of acks; begin each with '- '");
  std::vector<nightly::Ack> acks;
  for (const YAML::Node& entry : document) acks.push_back(ack_of(path, entry));
  return acks;
}

/// A JSON string is a YAML string too, whatever it holds.
std::string quoted(const std::string& text) { return Json(text).dump(); }

std::string entry_text(const nightly::Ack& ack, const std::string& indent) {
  return fmt::format("{0}- series: {1}\n{0}  commits: {2}\n{0}  reason: {3}\n{0}  until: {4}\n",
                     indent, quoted(ack.series), quoted(ack.first_commit + ".." + ack.last_commit),
                     quoted(ack.reason), quoted(ack.until));
}

/// The blanks before the entries that are there.
std::string indent_of(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::size_t first = text.find_first_not_of(' ', at);
    if (first < end && text[first] == '-' && text.compare(first, 3, "---") != 0)
      return std::string(first - at, ' ');
    at = end + 1;
  }
  return "";
}

auto fields(const nightly::Ack& a) {
  return std::tie(a.series, a.first_commit, a.last_commit, a.reason, a.until);
}

}  // namespace

void set_commits(nightly::Ack& ack, const std::string& range, const std::string& where) {
  const std::size_t dots = range.find("..");
  if (dots == std::string::npos || range.find("..", dots + 1) != std::string::npos ||
      range.find_first_of(" \t\n") != std::string::npos)
    throw InputError(fmt::format("{}: '{:.60}' is no range of commits; A..B is one", where, range));
  ack.first_commit = range.substr(0, dots);
  ack.last_commit = range.substr(dots + 2);
}

std::vector<nightly::Ack> load_acks(const std::string& path) {
  return parse_acks(read_text_file(path), path);
}

void append_ack(const std::string& path, const nightly::Ack& ack) {
  std::string text;
  std::vector<nightly::Ack> expected;
  if (std::filesystem::exists(path)) {
    text = read_text_file(path);
    expected = parse_acks(text, path);
  }
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += entry_text(ack, indent_of(text));
  expected.push_back(ack);
  std::vector<nightly::Ack> now;
  try {
    now = parse_acks(text, path);
  } catch (const InputError&) {  // what was there is no block list: [] or an end of the document
  }
  if (!std::equal(now.begin(), now.end(), expected.begin(), expected.end(),
                  [](const auto& a, const auto& b) { return fields(a) == fields(b); }))
    throw InputError(path +
                     ": an entry cannot be added behind what is there; write the list with "
                     "a '- ' for each entry");
  write_text_file(path, text);
}

}  // namespace nsa::cli
