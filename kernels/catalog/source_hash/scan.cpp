#include "scan.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "digest.hpp"

namespace nsa::source_hash {
namespace {

constexpr std::size_t kDigits = 16;  // of a constant

/// What stands behind `word` and any white space, where the text begins with these.
std::optional<std::string_view> behind(std::string_view text, std::string_view word) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}

struct Include {
  std::string name;
  bool quoted;  // "name", else <name>
};

/// The include in a line of the file `path`, if there is one.
std::optional<Include> include_in(std::string_view line, const std::string& path) {
  const auto directive = behind(line, "#");
  const auto rest = directive ? behind(*directive, "include") : std::nullopt;
  if (!rest) return std::nullopt;
  const bool quoted = rest->starts_with('"');
  const std::size_t end = rest->find(quoted ? '"' : '>', 1);
  if ((!quoted && !rest->starts_with('<')) || end == std::string_view::npos) {
    throw std::runtime_error(path + ": an include that names no file: " + std::string(line));
  }
  return Include{std::string(rest->substr(1, end - 1)), quoted};
}

std::string joined(const std::filesystem::path& folder, const std::string& name) {
  return (folder / name).lexically_normal().generic_string();
}

}  // namespace

Lists parse_lists(std::string_view text) {
  Lists lists;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, name;
    words >> kind >> name;
    if (kind == "include" && !name.empty()) {
      lists.include_folders.push_back(name);
    } else if (kind == "list" && !name.empty()) {
      UnitList& list = lists.lists.emplace_back();
      list.name = name;
      for (std::string unit; words >> unit;) list.units.push_back(unit);
    } else {
      throw std::runtime_error("neither an include folder nor a list: " + line);
    }
  }
  return lists;
}

Scanner::Scanner(std::vector<std::string> include_folders, ReadFile read)
    : include_folders_(std::move(include_folders)), read_(std::move(read)) {}

/// As the compiler looks: beside the file that includes it, then in the folders.
std::optional<std::string> Scanner::find(const std::string& from, const std::string& name,
                                         bool quoted) {
  if (quoted) {
    std::string beside = joined(std::filesystem::path(from).parent_path(), name);
    if (file_of(beside)) return beside;
  }
  for (const std::string& folder : include_folders_) {
    std::string path = joined(folder, name);
    if (file_of(path)) return path;
  }
  return std::nullopt;  // a system's, a library's, or made by the build
}

const Scanner::File* Scanner::file_of(const std::string& path) {
  if (const auto known = files_.find(path); known != files_.end()) {
    const std::optional<File>& file = known->second;
    return file ? &*file : nullptr;
  }
  const std::optional<std::string> text = read_(path);
  std::optional<File>& file = files_[path];  // first, since headers may include each other
  if (!text) return nullptr;
  file = File{{}, sha256_hex(code_text(*text))};
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const auto include = include_in(line, path);
    if (!include) continue;
    if (auto found = find(path, include->name, include->quoted)) {
      file->includes.push_back(std::move(*found));
    }
  }
  return &*file;
}

const std::set<std::string>& Scanner::files_of(const std::string& unit) {
  const auto [found, is_new] = of_unit_.try_emplace(unit);
  if (!is_new) return found->second;
  if (!file_of(unit)) {
    of_unit_.erase(found);
    throw std::runtime_error(unit + ": there is no such file");
  }
  std::vector<std::string> open{unit};
  while (!open.empty()) {
    const std::string path = std::move(open.back());
    open.pop_back();
    if (!found->second.insert(path).second) continue;
    const File* file = file_of(path);
    open.insert(open.end(), file->includes.begin(), file->includes.end());
  }
  return found->second;
}

std::set<std::string> Scanner::files_of(const UnitList& list) {
  std::set<std::string> files;
  for (const std::string& unit : list.units)
    files.insert(files_of(unit).begin(), files_of(unit).end());
  return files;
}

std::string Scanner::hash_of(const UnitList& list) {
  std::multiset<std::string> digests;
  for (const std::string& path : files_of(list)) digests.insert(file_of(path)->digest);
  std::string text;
  for (const std::string& digest : digests) text += digest + '\n';
  return sha256_hex(text).substr(0, kDigits);
}

std::vector<std::string> Scanner::files_read() const {
  std::vector<std::string> paths;
  for (const auto& [path, file] : files_) {
    if (file) paths.push_back(path);
  }
  return paths;
}

std::string header_of(const Lists& lists, Scanner& scanner) {
  std::string text =
      "// Written by the build from the sources of the variants. Do not edit.\n#pragma once\n\n"
      "#include <string_view>\n\nnamespace nsa::source_hash {\n\n";
  for (const UnitList& list : lists.lists) {
    text += "inline constexpr std::string_view " + list.name + " = \"" + scanner.hash_of(list) +
            "\";\n";
  }
  return text + "\n}  // namespace nsa::source_hash\n";
}

}  // namespace nsa::source_hash
