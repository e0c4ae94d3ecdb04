// Journal and durability. WAL where the file system allows it: readers never wait, and a commit is
// one append. There, synchronous = NORMAL: a commit survives the death of the process (the kernel
// has the bytes), so kill -9 costs the row in flight at most; a power cut may cost the rows since
// the last checkpoint, never the file. FULL would add a disk flush to each of thousands of small
// rows that can be measured again. With a rollback journal (DELETE) NORMAL could damage the file on
// a power cut, so there it is FULL.
#include "connection.hpp"

#include <algorithm>
#include <random>
#include <thread>

#include <sqlite3.h>

namespace nsa::store {
namespace {

/// The path as SQLite has to see it: never one of its special names (":memory:", "file:...").
std::string plain_path(const std::string& path) { return path.front() == '/' ? path : "./" + path; }

/// As a URI that promises SQLite that nobody writes the file, so that it needs no lock or journal.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : plain_path(path)) {
    if (c == '%' || c == '?' || c == '#') {
      constexpr char kHex[] = "0123456789abcdef";
      uri += '%';
      uri += kHex[c / 16];
      uri += kHex[c % 16];
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

int flags_of(Access access) {
  switch (access) {
    case Access::immutable:
      return SQLite::OPEN_READONLY | SQLite::OPEN_URI | SQLite::OPEN_NOMUTEX;
    case Access::read_only:  // below
    case Access::read_write:
      return SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX;
    case Access::create:
      break;
  }
  return SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX;
}

}  // namespace

Connection::Connection(const std::string& path, Access access, const OpenOptions& options)
    : timeout_s_(options.busy_timeout_s),
      keep_waiting_(options.keep_waiting),
      db_(access == Access::immutable ? immutable_uri(path) : plain_path(path), flags_of(access), 0,
          options.vfs) {
  sqlite3* handle = db_.getHandle();
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_handler(handle, &Connection::wait, this);
  // The file may come from a stranger: its schema may call no function that has side effects.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
  db_.exec("PRAGMA cell_size_check = ON");
  // Not OPEN_READONLY: such a connection makes the files of the WAL and cannot take them away
  // again.
  if (access == Access::read_only) db_.exec("PRAGMA query_only = ON");
}

int Connection::wait(void* self, int count) {
  auto& connection = *static_cast<Connection*>(self);
  const auto now = std::chrono::steady_clock::now();
  if (count == 0) connection.began_waiting_ = now;
  const std::chrono::duration<double> waited = now - connection.began_waiting_;
  if (waited.count() >= connection.timeout_s_) return 0;
  if (connection.keep_waiting_ && !connection.keep_waiting_(waited.count())) return 0;
  // Random, so that writers that collided once do not collide again; short, because a transaction
  // takes a fraction of a millisecond. SQLite's own handler goes up to 100 ms and starves some.
  thread_local std::minstd_rand random(std::random_device{}());
  const double longest_us = std::min(10000.0, 500.0 * (1 + count));
  const double us = std::uniform_real_distribution<double>(100.0, longest_us)(random);
  std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us));
  return 1;
}

std::string Connection::journal_mode() { return db_.execAndGet("PRAGMA journal_mode").getString(); }

void Connection::set_synchronous() {
  db_.exec(journal_mode() == "wal" ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
}

void Connection::leave_journal() {
  sqlite3_db_config(db_.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

bool Connection::read_only() { return sqlite3_db_readonly(db_.getHandle(), "main") == 1; }

}  // namespace nsa::store
