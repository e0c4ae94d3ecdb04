// Whole files out: nothing is ever left half-written.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/output_path.hpp"

namespace nsa {
namespace {

namespace fs = std::filesystem;

/// The file that is meant where `path` is a link, whether it is there yet or not. InputError where
/// a link on the way must not be followed.
fs::path target_of(const std::string& path) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::error_code ignored;
  fs::path target(path);
  for (int links = 0; fs::is_symlink(fs::symlink_status(target, ignored)); ++links) {
    if (links == kMostLinks)
      throw InputError(path + ": " + std::strerror(ELOOP) + "; name another file");
    refuse_planted_link(target.string());
    target = target.parent_path() / fs::read_symlink(target, ignored);
  }
  return target;
}

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

std::string link_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// A new file in the folder that has no name, so that it goes with this process; -1 where the file
/// system has none, or nothing could give it a name later.
int open_nameless(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor < 0 || ::access(link_of(descriptor).c_str(), F_OK) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

}  // namespace

bool is_wrong_name(int error) noexcept {
  return error == ENOENT || error == ENOTDIR || error == EISDIR || error == ENAMETOOLONG ||
         error == ELOOP;
}

void throw_path_error(int error, const std::string& what) {
  if (is_wrong_name(error)) throw InputError(what);
  throw EnvironmentError(what);
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return;
  const std::string what = path + ": cannot be made: " + error.message() + "; name another folder";
  // A file has that name, or nothing can: none at all, for one.
  if (error.value() == EEXIST || error.value() == EINVAL) throw InputError(what);
  throw_path_error(error.value(), what);
}

void refuse_planted_link(const std::string& name) {
  const fs::path path(name);
  struct stat link {
  }, folder{};
  const std::string parent = folder_of(name);
  if (::lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return;
  if (::stat(parent.c_str(), &folder) != 0) return;
  const bool shared = (folder.st_mode & S_ISVTX) && (folder.st_mode & S_IWOTH);
  if (shared && link.st_uid != ::geteuid() && link.st_uid != folder.st_uid)
    throw InputError(name +
                     ": is a symbolic link of another user in a shared folder; name another file");
}

bool is_database(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  char head[sizeof kSqliteHead] = {};
  std::ifstream(path, std::ios::binary).read(head, sizeof head);
  return std::memcmp(head, kSqliteHead, sizeof head) == 0;
}

void refuse_database(const std::string& path) {
  if (is_database(path)) throw InputError(path + ": is a SQLite database; name another file");
}

WholeFile::WholeFile(std::string path)
    : path_(std::move(path)), target_(target_of(path_).string()) {
  if (path_ == "-")  // stdout, where a command has it
    throw InputError("-: this output is a file; name one, or ./- where that is its name");
  refuse_database(path_);
  std::error_code ignored;
  const auto status = fs::status(target_, ignored);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw InputError(path_ + ": is not a regular file; name another output");
  descriptor_ = open_nameless(folder_of(target_));
  if (descriptor_ < 0) {
    const std::string name = name_beside();
    descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail();
    temporary_ = name;
  }
  struct stat old {};
  if (::stat(target_.c_str(), &old) == 0) ::fchmod(descriptor_, old.st_mode & 07777);
}

WholeFile::~WholeFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

std::string WholeFile::name_beside() const {
  return target_ + "." + make_uuid().substr(0, 8) + ".tmp";
}

void WholeFile::fail() const {
  const int error = errno;
  throw_path_error(error, path_ + ": cannot be written: " + std::strerror(error) +
                              "; choose a folder that exists, is writable and has space");
}

void WholeFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void WholeFile::finish() {
  if (::fsync(descriptor_) != 0) fail();
  if (temporary_.empty()) {  // a link cannot take the place of what is there: a rename can
    const std::string name = name_beside();
    if (::linkat(AT_FDCWD, link_of(descriptor_).c_str(), AT_FDCWD, name.c_str(),
                 AT_SYMLINK_FOLLOW) != 0)
      fail();
    temporary_ = name;
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
  temporary_.clear();
}

void WholeFile::write_whole(std::string_view text) {
  write(text);
  finish();
}

void write_text_file(const std::string& path, std::string_view text) {
  WholeFile(path).write_whole(text);
}

}  // namespace nsa
