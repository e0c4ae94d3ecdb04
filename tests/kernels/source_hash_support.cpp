#include "source_hash_support.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace nsa::test {
namespace {

namespace fs = std::filesystem;

/// Whether `path` lies in `folder`; both absolute.
bool lies_in(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

/// A file of the repository by its path in it; nothing for what the build made or what belongs to
/// others.
std::optional<std::string> in_repository(const fs::path& file) {
  const fs::path source = NSA_SOURCE_DIR, path = (NSA_BINARY_DIR / file).lexically_normal();
  if (!lies_in(path, source) || lies_in(path, NSA_BINARY_DIR) || lies_in(path, source / ".deps")) {
    return std::nullopt;
  }
  return path.lexically_relative(source).generic_string();
}

}  // namespace

std::vector<std::string> lines_of(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::string text;
  std::vector<char> piece(1 << 16);
  while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) {
    text.append(piece.data(), got);
  }
  if (pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

const std::optional<std::string>& source_text(const std::string& path) {
  static std::map<std::string, std::optional<std::string>> texts;
  const auto [text, is_new] = texts.try_emplace(path);
  if (is_new && fs::is_regular_file(fs::path(NSA_SOURCE_DIR) / path)) {
    std::ifstream file(fs::path(NSA_SOURCE_DIR) / path, std::ios::binary);
    text->second.emplace(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return text->second;
}

const source_hash::Lists& unit_lists() {
  static const source_hash::Lists lists = [] {
    std::ifstream file(NSA_BINARY_DIR "/generated/source_lists.txt");
    return source_hash::parse_lists(
        std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  }();
  return lists;
}

bool is_of_composites(const source_hash::UnitList& list) {
  return list.name == "runtime" || list.name == "runtime_cpu" || list.name == "runtime_cuda" ||
         list.name == "training" || list.name == "training_model" || list.name == "decode_step" ||
         list.name == "in_turn";
}

source_hash::Scanner make_scanner() { return {unit_lists().include_folders, source_text}; }

std::string unit_of_object(const std::string& object) {
  for (const std::string folder : {"nsa_kernels.dir/", "nsa_kernels_sm90a.dir/"}) {
    const std::size_t at = object.find(folder);
    if (at == std::string::npos) continue;
    const fs::path in_kernels = fs::path(object.substr(at + folder.size())).lexically_normal();
    return "kernels/" + fs::path(in_kernels).replace_extension().generic_string();
  }
  return "";
}

const Files& compiled_units() {
  static const Files units = [] {
    std::ifstream objects(NSA_KERNEL_OBJECTS);
    Files found;
    for (std::string object; std::getline(objects, object);) found.insert(unit_of_object(object));
    return found;
  }();
  return units;
}

std::optional<std::map<std::string, Files>> compiled_files() {
  if (std::string_view(NSA_GENERATOR) != "Ninja") return std::nullopt;
  std::map<std::string, Files> files;
  Files* of_unit = nullptr;
  // "OBJECT: #deps 3, deps mtime 1 (VALID)", then a file a line, indented
  for (const std::string& line : lines_of(NSA_MAKE_PROGRAM " -C " NSA_BINARY_DIR " -t deps")) {
    if (!line.starts_with(' ')) {
      const std::string unit = unit_of_object(line.substr(0, line.find(": #deps")));
      const bool counts = !unit.empty() && line.ends_with("(VALID)");
      of_unit = counts ? &files[unit] : nullptr;
    } else if (of_unit) {
      const auto path = in_repository(line.substr(line.find_first_not_of(' ')));
      if (path) of_unit->insert(*path);
    }
  }
  return files;
}

}  // namespace nsa::test
