#include "sqlite_error.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <sqlite3.h>

#include "nsa/schemas/error.hpp"

namespace nsa::store {
namespace {

enum class Who { environment, input, contract };

struct Meaning {
  Who who;
  const char* advice;
};

Meaning meaning_of(int code, int extended, Doing doing) {
  constexpr Meaning kDamaged{Who::input, "it is damaged or no results database; name another file"};
  const bool of_the_file =
      code == SQLITE_ERROR || code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH;
  if (of_the_file && doing == Doing::opening) return kDamaged;
  if (extended == SQLITE_IOERR_SHORT_READ || extended == SQLITE_CANTOPEN_ISDIR) {
    return {Who::input, "name another file"};
  }
  switch (code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return {Who::environment, "another process holds it; wait for it or end it, then try again"};
    case SQLITE_FULL:
      return {Who::environment, "make room on the disk; what was stored before is kept"};
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return {Who::environment, "the file and its folder must be writable; or use --db FILE"};
    case SQLITE_IOERR:
    case SQLITE_NOLFS:
      return {Who::environment, "check the disk, its quota and file size limits"};
    case SQLITE_NOMEM:
      return {Who::environment, "free some memory"};
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_FORMAT:
    case SQLITE_TOOBIG:
      return kDamaged;
    default:
      return {Who::contract, "this is a defect of nsatune, please report it"};
  }
}

}  // namespace

void raise(const std::string& path, const SQLite::Exception& error, Doing doing) {
  const int extended = error.getExtendedErrorCode();
  const Meaning meaning = meaning_of(error.getErrorCode() & 0xff, extended, doing);
  std::string message =
      fmt::format("{}: {} (SQLite error {}); {}", path, error.what(), extended, meaning.advice);
  std::replace(message.begin(), message.end(), '\n', ' ');
  if (meaning.who == Who::environment) throw EnvironmentError(message);
  if (meaning.who == Who::input) throw InputError(message);
  throw ContractError(message);
}

bool is_transient(const SQLite::Exception& error) noexcept {
  const int code = error.getErrorCode() & 0xff;
  return code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_PROTOCOL;
}

bool is_disk_full(const SQLite::Exception& error) noexcept {
  return (error.getErrorCode() & 0xff) == SQLITE_FULL;
}

bool is_shared_memory_failure(const SQLite::Exception& error) noexcept {
  const int code = error.getExtendedErrorCode();
  return code == SQLITE_IOERR_SHMOPEN || code == SQLITE_IOERR_SHMSIZE ||
         code == SQLITE_IOERR_SHMMAP || code == SQLITE_IOERR_SHMLOCK;
}

bool is_journal_refused(const SQLite::Exception& error) noexcept {
  const int code = error.getErrorCode() & 0xff;
  return code == SQLITE_CANTOPEN || code == SQLITE_READONLY;
}

}  // namespace nsa::store
