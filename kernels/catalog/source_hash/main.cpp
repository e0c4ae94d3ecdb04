// Build step: writes the header of source hashes, and a depfile with all that it was made from.
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>

#include "scan.hpp"

namespace {

using nsa::source_hash::Scanner;

std::optional<std::string> read_file(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) throw std::runtime_error("cannot read " + path);
  return text;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

/// Spaces, number signs and dollars as make and ninja want them.
std::string escaped(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == ' ' || c == '#') text += '\\';
    if (c == '$') text += '$';
    text += c;
  }
  return text;
}

void run(const std::string& root, const std::string& lists_file, const std::string& header,
         const std::string& stamp) {
  const auto text = read_file(lists_file);
  if (!text) throw std::runtime_error("cannot read " + lists_file);
  const auto lists = nsa::source_hash::parse_lists(*text);
  Scanner scanner(lists.include_folders,
                  [&](const std::string& path) { return read_file(root + "/" + path); });
  const std::string hashes = header_of(lists, scanner);
  if (read_file(header) != hashes) write_file(header, hashes);  // else nothing is compiled again
  std::string depfile = escaped(stamp) + ":";
  for (const std::string& path : scanner.files_read()) {
    depfile += " \\\n  " + escaped(root + "/" + path);
  }
  write_file(stamp + ".d", depfile + "\n");
  write_file(stamp, "");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: nsa_source_hash REPOSITORY LISTS HEADER STAMP\n"
                 "Hashes the sources of the LISTS into HEADER, which stays as it is where nothing\n"
                 "changed, and writes STAMP and its depfile STAMP.d.\n";
    return 2;
  }
  try {
    run(argv[1], argv[2], argv[3], argv[4]);
  } catch (const std::exception& error) {
    std::cerr << "source hashes: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
