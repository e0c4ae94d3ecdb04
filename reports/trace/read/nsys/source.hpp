// What all tables of an export of Nsight Systems share: names by number, global ids, times.
#pragma once

#include <unordered_map>

#include "nsa/trace/model.hpp"
#include "sqlite_rows.hpp"

namespace nsa::trace {

class NsysSource {
 public:
  /// InputError when it is no such export, or when a table is missing that others refer to.
  explicit NsysSource(const std::string& path);

  const SqliteFile& file() const noexcept { return file_; }
  bool has(const char* table) const { return file_.has_table(table); }

  struct Times {
    std::int64_t start, end;
  };
  /// Of columns 0 and 1; checked.
  static Times times(const SqliteRows& rows);
  static std::int32_t device(const SqliteRows& rows, int column);
  /// A name that the table holds by its number.
  const std::string& string(const SqliteRows& rows, int column) const;
  /// Small numbers for global ids, which hold the thread in bits 0-23 and the process above.
  std::uint32_t process(std::int64_t global_id) { return small_id(processes_, global_id >> 24); }
  /// Fills threads and processes: what the small numbers stand for.
  void name_threads(Trace& trace) const;
  std::uint32_t thread(std::int64_t global_id) { return small_id(threads_, global_id); }

 private:
  using Ids = std::unordered_map<std::int64_t, std::uint32_t>;
  static std::uint32_t small_id(Ids& ids, std::int64_t of) {
    return ids.emplace(of, static_cast<std::uint32_t>(ids.size())).first->second;
  }
  void require_tables() const;
  bool calls(std::string_view part) const;
  void require_ops(const char* table, std::string_view call) const;

  SqliteFile file_;
  std::unordered_map<std::int64_t, std::string> strings_;
  Ids threads_, processes_;
};

inline constexpr const char* kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
inline constexpr const char* kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
inline constexpr const char* kSets = "CUPTI_ACTIVITY_KIND_MEMSET";
inline constexpr const char* kGraphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
inline constexpr const char* kCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";

}  // namespace nsa::trace
