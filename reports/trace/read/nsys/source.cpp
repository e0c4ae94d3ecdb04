#include "source.hpp"

namespace nsa::trace {

NsysSource::NsysSource(const std::string& path) : file_(path) {
  if (!has("StringIds")) file_.fail("StringIds", "is missing: no SQLite export of Nsight Systems");
  require_tables();
  SqliteRows rows(file_, "StringIds", "id, value");
  while (rows.next()) strings_[rows.integer(0)] = rows.text(1);
}

/// GPU operations name their calls and the other way round: one without the other is a damaged
/// file. Other tables are left out where there are no rows.
void NsysSource::require_tables() const {
  if ((has(kKernels) || has(kCopies) || has(kSets) || has(kGraphs)) && !has(kCalls))
    file_.fail(kCalls, "is missing, but GPU operations refer to it");
  if (!has(kCalls) || has(kGraphs)) return;  // a graph's operations may be recorded as a whole
  require_ops(kKernels, "LaunchKernel");
  require_ops(kCopies, "MemcpyAsync");
  require_ops(kSets, "MemsetAsync");
}

void NsysSource::require_ops(const char* table, std::string_view call) const {
  const bool rows = has(table) && SqliteRows(file_, table, "1").next();
  // Calls in a capture make nodes of a graph and no operations.
  if (!rows && calls(call) && !calls("StreamBeginCapture"))
    file_.fail(table, "is missing or empty, but " + std::string(call) + " was called");
}

bool NsysSource::calls(std::string_view part) const {
  SqliteRows rows(file_, std::string(kCalls) + " r JOIN StringIds s ON s.id = r.nameId", "s.value");
  while (rows.next())
    if (rows.text(0).find(part) != std::string_view::npos) return true;
  return false;
}

NsysSource::Times NsysSource::times(const SqliteRows& rows) {
  const std::int64_t start = rows.integer(0), end = rows.integer(1);
  if (start > kMaxTimeNs || start < -kMaxTimeNs) rows.fail("a start that is out of range");
  if (end < start) rows.fail("an end before its start");
  if (end > kMaxTimeNs || end - start > kMaxDurationNs) rows.fail("longer than 104 days");
  return {start, end};
}

std::int32_t NsysSource::device(const SqliteRows& rows, int column) {
  const std::int64_t id = rows.integer(column);
  if (id < 0 || id > INT32_MAX) rows.fail("a device id that is out of range");
  return static_cast<std::int32_t>(id);
}

void NsysSource::name_threads(Trace& trace) const {
  trace.threads.resize(threads_.size());
  trace.processes.resize(processes_.size());
  const auto pid_of = [](std::int64_t id) { return std::to_string(id & 0xffffff); };
  for (const auto& [id, number] : threads_)
    trace.threads[number] = {pid_of(id >> 24), pid_of(id), {}};
  for (const auto& [id, number] : processes_) trace.processes[number].pid = pid_of(id);
}

const std::string& NsysSource::string(const SqliteRows& rows, int column) const {
  const auto at = strings_.find(rows.integer(column));
  if (at == strings_.end()) rows.fail("a name that is not in StringIds");
  return at->second;
}

}  // namespace nsa::trace
