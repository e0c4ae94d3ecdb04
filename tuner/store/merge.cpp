// The files are united in a new database beside the result, one after the other. When all of them
// are in it, it becomes the result under its name, or its rows go into the result that is there, in
// one transaction. So a file that cannot be taken leaves nothing behind.
#include "nsa/store/merge.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "file/opening.hpp"
#include "file/snapshot.hpp"
#include "file/sqlite_error.hpp"
#include "nsa/schemas/error.hpp"
#include "union.hpp"

namespace nsa::store {
namespace {

using OptionsOf = std::function<OpenOptions(const std::string& file)>;

/// A folder beside the result, on the same file system, removed with all that is in it.
class Workplace {
 public:
  explicit Workplace(const std::string& out) {
    const auto folder = std::filesystem::absolute(out).parent_path();
    std::string name = (folder / ".nsatune-merge-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw EnvironmentError(fmt::format(
          "{}: no file can be made in its folder: {}; make it writable, or use --db FILE", out,
          std::strerror(errno)));
    }
    path_ = name;
  }
  ~Workplace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

MergedFile add_file(Connection& united, const Workplace& place, std::size_t number,
                    const std::string& file, const OpenOptions& options) {
  const std::string copy = place.file(fmt::format("{}.sqlite", number).c_str());
  take_snapshot(file, copy, options);
  MergedFile merged{file, {}};
  guarded(copy, [&] {
    {
      Connection connection(copy, Access::read_only, options);
      merged.rows = row_counts(connection.db());
    }
    add_rows_of(united.db(), copy, file);
  });
  std::error_code ignored;
  std::filesystem::remove(copy, ignored);  // the space of one file at a time
  return merged;
}

/// The union of all files in a new database at `path`, all of it in that one file.
RowCounts unite(const std::string& path, const Workplace& place,
                const std::vector<std::string>& files, const OptionsOf& options_of,
                std::vector<MergedFile>& merged) {
  const Opened opened = open_for_writing(path, options_of(path));
  opened.connection->db().exec("PRAGMA synchronous = OFF");  // publish() brings it to the disk
  for (const std::string& file : files)
    merged.push_back(add_file(*opened.connection, place, merged.size(), file, options_of(file)));
  return guarded(path, [&] {
    SQLite::Database& db = opened.connection->db();
    if (opened.connection->journal_mode() == "wal") db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    return row_counts(db);
  });
}

void sync_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (!synced) throw EnvironmentError(fmt::format("{}: {}", path, std::strerror(error)));
}

/// Brings the file to the disk and gives it its name unless something has that name by now.
bool publish(const std::string& united, const std::string& out) {
  sync_file(united);
  if (renameat2(AT_FDCWD, united.c_str(), AT_FDCWD, out.c_str(), RENAME_NOREPLACE) == 0)
    return true;
  // A file system that cannot refuse to replace has hard links, which never replace.
  if (errno == EINVAL && link(united.c_str(), out.c_str()) == 0) return true;
  if (errno == EEXIST) return false;
  throw EnvironmentError(fmt::format("{}: {}; use --db FILE", out, std::strerror(errno)));
}

RowCounts difference(const RowCounts& after, const RowCounts& before) {
  return {after.runs - before.runs,
          after.measurements - before.measurements,
          after.launch_traces - before.launch_traces,
          after.launch_counters - before.launch_counters,
          after.telemetry - before.telemetry,
          after.run_results - before.run_results};
}

void add_to_existing(const std::string& united, const OpenOptions& options, MergeReport& report) {
  const Opened opened = open_for_writing(report.path, options);
  guarded(report.path, [&] {
    const RowCounts before = row_counts(opened.connection->db());
    add_rows_of(opened.connection->db(), united, report.path);
    report.total = row_counts(opened.connection->db());
    report.added = difference(report.total, before);
  });
}

}  // namespace

MergeReport merge(const std::vector<std::string>& files, const std::string& out,
                  const OpenOptions& options, const OptionsOf& options_of) {
  expects(!files.empty(), "files to merge");
  const bool exists = is_there(out);
  const Workplace place(out);
  const std::string united = place.file("united.sqlite");
  MergeReport report{out, false, {}, {}, {}};
  OpenOptions silent = options;
  silent.keep_waiting = {};
  silent.busy_timeout_s = std::min(silent.busy_timeout_s, kLongestWaitForFile_s);
  const OptionsOf as_out = [&](const std::string&) { return silent; };
  report.added = report.total =
      unite(united, place, files, options_of ? options_of : as_out, report.files);
  report.created = !exists && publish(united, out);
  if (!report.created) add_to_existing(united, options, report);
  return report;
}

}  // namespace nsa::store
