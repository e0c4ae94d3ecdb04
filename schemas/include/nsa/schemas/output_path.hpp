// Where output may go, and a file that is there whole or not at all. Functions may be called by
// several threads; a WholeFile belongs to one thread at a time.
#pragma once

#include <string>
#include <string_view>

namespace nsa {

/// Whether the file begins as an SQLite database does. No file is opened but a regular one: a pipe
/// would wait for its writer.
bool is_database(const std::string& path);
/// InputError where the file is an SQLite database: measurements are never written over.
void refuse_database(const std::string& path);

/// Whether the error of a system call says that a name is wrong, which its user has to mend (exit
/// 2): it leads nowhere, in a circle, to a folder or through a file, or is too long. All else is
/// the machine's (exit 4): no permission, a file system that is read-only or full, a failing disk.
bool is_wrong_name(int error) noexcept;
/// Throws `what` as InputError where the name is wrong, else as EnvironmentError.
[[noreturn]] void throw_path_error(int error, const std::string& what);

/// Makes a folder and those above it that are missing; one that is there stays. As
/// throw_path_error(): "<path>: cannot be made: <why>; name another folder".
void make_folder(const std::string& path);

/// In a folder where everybody may write, a link that is neither ours nor the folder's owner's
/// leads where another user wants it: InputError. The rule is the kernel's (protected_symlinks),
/// for its own opens.
void refuse_planted_link(const std::string& path);

/// Bytes go to a temporary file in the folder of `path`, which takes its name when all are there.
/// Until then what stood there before stays, and without finish() nothing is left: not of a process
/// that was killed either, where the file system has files without a name (O_TMPFILE; NFS has
/// none). A link stays, and the file that it leads to is written; a file that was there keeps its
/// mode.
class WholeFile {
 public:
  /// InputError: a bad path, a database, what is no regular file; EnvironmentError: the machine.
  explicit WholeFile(std::string path);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// Appends. EnvironmentError when the disk does not take them.
  void write(std::string_view bytes);
  /// Brings all of it to the disk and gives it its name; nothing is written after that.
  void finish();
  /// All of a text, and finish().
  void write_whole(std::string_view text);

 private:
  [[noreturn]] void fail() const;
  std::string name_beside() const;

  std::string path_, target_;
  std::string temporary_;  // empty while the file has no name
  int descriptor_ = -1;
};

/// The first bytes, their final zero included (SQLite, "Database File Format").
inline constexpr char kSqliteHead[] = "SQLite format 3";

}  // namespace nsa
