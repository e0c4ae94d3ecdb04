// Whole files in, whole files out: nothing is ever left half-written.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/output_path.hpp"

namespace nsa {
namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{64} << 20;
constexpr std::uintmax_t kFirstReadBytes = std::uintmax_t{1} << 16;

/// A new file beside the target that vanishes unless it takes the target's place.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target)
      : path_(target.string() + "." + make_uuid().substr(0, 8) + ".tmp"),
        descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    if (!renamed_) ::unlink(path_.c_str());
  }

  /// Writes, syncs and renames; false with errno at the first step that fails.
  bool replace(const fs::path& target, std::string_view text) {
    if (descriptor_ < 0) return false;
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    struct stat old {};
    if (::stat(target.c_str(), &old) == 0) ::fchmod(descriptor_, old.st_mode & 07777);
    if (::fsync(descriptor_) != 0) return false;
    renamed_ = ::rename(path_.c_str(), target.c_str()) == 0;
    return renamed_;
  }

 private:
  std::string path_;
  int descriptor_;
  bool renamed_ = false;
};

/// What the user named wrongly; the rest (a full disk, no permission) is the machine's.
bool bad_path(int error) {
  return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ELOOP;
}

}  // namespace

std::string read_text_file(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status))
    throw InputError(path + ": cannot be found; check the path" +
                     (error ? " (" + error.message() + ")" : std::string()));
  if (!fs::is_regular_file(status)) throw InputError(path + ": is not a regular file");
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

void refuse_planted_link(const std::string& name) {
  const fs::path path(name);
  struct stat link {
  }, folder{};
  const std::string parent = path.has_parent_path() ? path.parent_path().string() : ".";
  if (::lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return;
  if (::stat(parent.c_str(), &folder) != 0) return;
  const bool shared = (folder.st_mode & S_ISVTX) && (folder.st_mode & S_IWOTH);
  if (shared && link.st_uid != ::geteuid() && link.st_uid != folder.st_uid)
    throw InputError(name +
                     ": is a symbolic link of another user in a shared folder; name another file");
}

void refuse_database(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return;  // a pipe would wait for its writer
  char head[sizeof kSqliteHead] = {};
  std::ifstream(path, std::ios::binary).read(head, sizeof head);
  if (std::memcmp(head, kSqliteHead, sizeof head) == 0)
    throw InputError(path + ": is a SQLite database; name another file");
}

void write_text_file(const std::string& path, std::string_view text) {
  refuse_planted_link(path);
  refuse_database(path);
  std::error_code error;
  const auto status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw InputError(path + ": is not a regular file; name another output");
  // Through a link to the file that it names, so that the link stays.
  fs::path target =
      fs::is_symlink(fs::symlink_status(path, error)) ? fs::canonical(path, error) : fs::path(path);
  if (target.empty()) target = path;
  TemporaryFile temporary(target);
  if (temporary.replace(target, text)) return;
  const std::string what = path + ": cannot be written: " + std::strerror(errno) +
                           "; choose a folder that exists, is writable and has space";
  if (bad_path(errno)) throw InputError(what);
  throw EnvironmentError(what);
}

}  // namespace nsa
