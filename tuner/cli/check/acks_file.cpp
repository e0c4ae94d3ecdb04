#include "acks_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <tuple>

#include "history/time.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/text.hpp"
#include "nsa/schemas/variant_text.hpp"
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
      refuse(path, item.first.Mark(), fmt::format("'{}' appears twice", key));
    seen.push_back(key);
  }
}

std::string text_of(const std::string& path, const YAML::Node& entry, const char* key) {
  const YAML::Node value = entry[key];
  if (!value) refuse(path, entry.Mark(), fmt::format("the ack has no '{}'", key));
  if (!value.IsScalar() || value.Scalar().empty())
    refuse(path, value.Mark(), fmt::format("'{}' is not text", key));
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
           fmt::format("until: '{:.60}' is not a date; 2026-12-31 is one", ack.until));
  const std::string commits = text_of(path, entry, "commits");
  set_commits(ack, commits, fmt::format("{}:{}: commits", path, entry["commits"].Mark().line + 1));
  return ack;
}

std::vector<nightly::Ack> parse_acks(const std::string& text, const std::string& path) {
  const YAML::Node document = tuner::load_yaml(text, path);
  if (!document || document.IsNull()) return {};
  if (!document.IsSequence())
    refuse(path, document.Mark(), "is not a list of acks; begin each with '- '");
  std::vector<nightly::Ack> acks;
  for (const YAML::Node& entry : document) acks.push_back(ack_of(path, entry));
  return acks;
}

/// A JSON string is a YAML string too, whatever it holds.
std::string quoted(const std::string& text) {
  if (!is_utf8(text))
    throw InputError(fmt::format("ack: '{}' has bytes that are not UTF-8", visible(text)));
  return Json(text).dump();
}

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

bool same_acks(const std::vector<nightly::Ack>& a, const std::vector<nightly::Ack>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return fields(x) == fields(y); });
}

/// What the text says, or nothing where it says nothing that is right.
std::optional<std::vector<nightly::Ack>> try_acks(const std::string& text,
                                                  const std::string& path) {
  try {
    return parse_acks(text, path);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// From before the file is read until it is written: of two commands that change it at once, none
/// loses the entry of the other. The folder is locked, because each change makes a new file.
class ChangesAlone {
 public:
  explicit ChangesAlone(const std::string& path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    folder_ = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ >= 0) flock(folder_, LOCK_EX);  // what cannot be opened is refused when it is read
  }
  ~ChangesAlone() {
    if (folder_ >= 0) close(folder_);
  }
  ChangesAlone(const ChangesAlone&) = delete;
  ChangesAlone& operator=(const ChangesAlone&) = delete;

 private:
  int folder_ = -1;
};

/// The lines of a text, each with its end.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

char first_character(const std::string& line) {
  const std::size_t at = line.find_first_not_of(" \r\n");
  return at == std::string::npos ? '\0' : line[at];
}

/// First lines of the entries, and the end of the text: an entry begins with its dash.
std::vector<std::size_t> first_lines(const YAML::Node& document,
                                     const std::vector<std::string>& lines) {
  std::vector<std::size_t> firsts;
  for (const YAML::Node& entry : document) {
    auto line = static_cast<std::size_t>(entry.Mark().line);
    while (line > 0 && first_character(lines[line]) != '-') --line;
    firsts.push_back(line);
  }
  firsts.push_back(lines.size());
  return firsts;
}

/// The text without some of its entries. Comments and blank lines after an entry stay.
std::string text_without(const std::vector<std::string>& lines,
                         const std::vector<std::size_t>& firsts, const std::vector<bool>& goes) {
  std::vector<bool> gone(lines.size(), false);
  for (std::size_t i = 0; i < goes.size(); ++i) {
    if (!goes[i]) continue;
    std::size_t end = firsts[i + 1];
    const auto says_nothing = [&](std::size_t line) {
      const char c = first_character(lines[line]);
      return c == '\0' || c == '#';
    };
    while (end > firsts[i] + 1 && says_nothing(end - 1)) --end;
    std::fill(gone.begin() + static_cast<std::ptrdiff_t>(firsts[i]),
              gone.begin() + static_cast<std::ptrdiff_t>(end), true);
  }
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!gone[i]) text += lines[i];
  return text;
}

}  // namespace

void set_commits(nightly::Ack& ack, const std::string& range, const std::string& where) {
  const std::size_t dots = range.find("..");
  if (dots == std::string::npos || range.find("..", dots + 1) != std::string::npos ||
      range.find_first_of(" \t\n") != std::string::npos)
    throw InputError(
        fmt::format("{}: '{:.60}' is not a range of commits; A..B is one", where, range));
  ack.first_commit = range.substr(0, dots);
  ack.last_commit = range.substr(dots + 2);
}

std::vector<nightly::Ack> load_acks(const std::string& path) {
  return parse_acks(read_text_file(path), path);
}

void append_ack(const std::string& path, const nightly::Ack& ack) {
  const ChangesAlone alone(path);
  std::string text;
  std::vector<nightly::Ack> expected;
  if (std::filesystem::exists(path)) {
    text = read_text_file(path);
    expected = parse_acks(text, path);
  }
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += entry_text(ack, indent_of(text));
  expected.push_back(ack);
  const auto now = try_acks(text, path);
  // Else what was there is no block list: [] or an end of the document.
  if (!now || !same_acks(*now, expected))
    throw InputError(path +
                     ": an entry cannot be added after what is there; write the list with "
                     "a '- ' for each entry");
  write_text_file(path, text);
}

std::size_t remove_acks(const std::string& path, const std::string& series,
                        const std::optional<std::string>& commits) {
  const ChangesAlone alone(path);
  const std::string text = read_text_file(path);
  std::vector<nightly::Ack> left;
  std::vector<bool> goes;
  for (const nightly::Ack& ack : parse_acks(text, path)) {
    const bool same = with_older_point(ack.series) == with_older_point(series) &&
                      (!commits || ack.first_commit + ".." + ack.last_commit == *commits);
    goes.push_back(same);
    if (!same) left.push_back(ack);
  }
  const std::size_t removed = goes.size() - left.size();
  if (removed == 0)
    throw InputError(path + ": has no such ack of '" + series + "'; nsatune ack list lists all");
  const std::vector<std::string> lines = lines_of(text);
  const std::string without =
      text_without(lines, first_lines(tuner::load_yaml(text, path), lines), goes);
  const auto now = try_acks(without, path);
  if (!now || !same_acks(*now, left))
    throw InputError(path + ": an entry shares a line with something else; take it out by hand");
  write_text_file(path, without);
  return removed;
}

}  // namespace nsa::cli
