// Which files a translation unit is compiled from, read from its sources: the same in every build,
// whatever is installed. A header behind an #if counts too.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nsa::source_hash {

/// The translation units that a launch of some row can run; paths are relative to the repository.
struct UnitList {
  std::string name;
  std::vector<std::string> units;
};

/// What the build hands over: a line "include FOLDER" for each folder in which the units look for
/// headers, in that order, and a line "list NAME UNIT..." for each list.
struct Lists {
  std::vector<std::string> include_folders;
  std::vector<UnitList> lists;
};
/// Throws std::runtime_error with the line that is neither.
Lists parse_lists(std::string_view text);

/// Content of a file of the repository; nothing where it has no such file.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

/// Follows includes, and hashes what it finds. Reads each file once.
class Scanner {
 public:
  Scanner(std::vector<std::string> include_folders, ReadFile read);

  /// The unit, the repository's files that it includes, and theirs. Throws std::runtime_error where
  /// there is no such unit, or an include that is no file's name.
  const std::set<std::string>& files_of(const std::string& unit);
  /// Those of all of its units.
  std::set<std::string> files_of(const UnitList& list);
  /// 16 hexadecimal digits of a SHA-256 of the code in these files: the same where a file was moved
  /// or a comment changed.
  std::string hash_of(const UnitList& list);
  /// Files that were read so far.
  std::vector<std::string> files_read() const;

 private:
  struct File {
    std::vector<std::string> includes;  // files of the repository
    std::string digest;
  };
  const File* file_of(const std::string& path);
  std::optional<std::string> find(const std::string& from, const std::string& name, bool quoted);

  std::vector<std::string> include_folders_;
  ReadFile read_;
  std::map<std::string, std::optional<File>> files_;
  std::map<std::string, std::set<std::string>> of_unit_;
};

/// The header that the tables of variants include: a constant for each list.
std::string header_of(const Lists& lists, Scanner& scanner);

}  // namespace nsa::source_hash
