#include "verify.hpp"

#include <array>
#include <filesystem>
#include <fstream>

#include "nsa/schemas/error.hpp"

namespace nsa::store {
namespace {

/// 0 where there is no such file.
std::uintmax_t size_of(const std::string& path) {
  std::error_code missing;
  const std::uintmax_t bytes = std::filesystem::file_size(path, missing);
  return missing ? 0 : bytes;
}

/// Bytes of a page, two of them at 16, big-endian; 1 stands for 64 KiB (SQLite, "Database File
/// Format"). 0 where the file is too short to tell.
std::uintmax_t page_bytes(const std::string& path) {
  std::array<char, 18> head{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(head.data(), head.size())) return 0;
  const auto byte = [&](std::size_t i) -> std::uintmax_t {
    return static_cast<unsigned char>(head.at(i));
  };
  const std::uintmax_t bytes = byte(16) << 8 | byte(17);
  return bytes == 1 ? 65536 : bytes;
}

}  // namespace

bool has_journal(const std::string& path) {
  return size_of(path + "-wal") > 0 || size_of(path + "-journal") > 0;
}

void refuse_cut(const std::string& path) {
  const std::uintmax_t bytes = size_of(path);
  if (bytes == 0 || has_journal(path)) return;
  const std::uintmax_t page = page_bytes(path);
  if (page == 0 || bytes % page != 0)
    throw InputError(path + ": is damaged: it was cut within a page; take a whole copy of it");
}

}  // namespace nsa::store
