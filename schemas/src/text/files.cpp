// Whole files in.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa {
namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{64} << 20;
constexpr std::uintmax_t kFirstReadBytes = std::uintmax_t{1} << 16;

}  // namespace

std::string read_text_file(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status))
    throw InputError(path + ": cannot be found; check the path" +
                     (error ? " (" + error.message() + ")" : std::string()));
  if (fs::is_directory(status))
    throw InputError(path + ": is a folder, not a regular file; name a file");
  if (!fs::is_regular_file(status))
    throw InputError(path + ": is not a regular file; put what it gives into one and name that");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(path + ": cannot be opened: " + std::strerror(errno));
  // The size is only a hint (it is 0 under /proc); the limit holds for what is really read.
  std::string text;
  std::uintmax_t chunk = fs::file_size(path, error);
  if (error || chunk == 0) chunk = kFirstReadBytes;
  chunk = std::min(chunk, kMaxFileBytes) + 1;
  while (file && text.size() <= kMaxFileBytes) {
    const std::size_t old = text.size();
    text.resize(old + chunk);
    file.read(text.data() + old, static_cast<std::streamsize>(chunk));
    text.resize(old + static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) throw InputError(path + ": cannot be read: " + std::strerror(errno));
  if (text.size() > kMaxFileBytes) throw InputError(path + ": is larger than 64 MiB");
  return text;
}

}  // namespace nsa
