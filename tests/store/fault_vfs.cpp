#include "fault_vfs.hpp"

#include <cstring>
#include <limits>
#include <memory>

namespace nsa::test {

struct FaultVfs::State {
  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;
  Fault fault = Fault::fail;
  std::int64_t calls = 0, at = std::numeric_limits<std::int64_t>::max();
  bool met = false;

  /// The result code of this call, or SQLITE_OK where it is to be done.
  int meet(int code, bool writes) {
    const std::int64_t call = calls++;
    const bool full = fault == Fault::full;
    if (call < at || (call > at && !full) || (full && !writes)) return SQLITE_OK;
    met = true;
    return full ? SQLITE_FULL : code;
  }
};

namespace {

/// SQLite allocates szOsFile bytes: this, and the file of the real layer after it.
struct File {
  sqlite3_file base;
  FaultVfs::State* state;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File* of(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
FaultVfs::State* of(sqlite3_vfs* vfs) { return static_cast<FaultVfs::State*>(vfs->pAppData); }

int close_file(sqlite3_file* file) { return of(file)->real()->pMethods->xClose(of(file)->real()); }

int read_file(sqlite3_file* file, void* to, int bytes, sqlite3_int64 at) {
  if (const int code = of(file)->state->meet(SQLITE_IOERR_READ, false)) return code;
  return of(file)->real()->pMethods->xRead(of(file)->real(), to, bytes, at);
}

int write_file(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
  FaultVfs::State* state = of(file)->state;
  sqlite3_file* real = of(file)->real();
  const int code = state->meet(SQLITE_IOERR_WRITE, true);
  if (code != SQLITE_OK && state->fault == Fault::tear)
    real->pMethods->xWrite(real, from, bytes / 2, at);
  return code != SQLITE_OK ? code : real->pMethods->xWrite(real, from, bytes, at);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (const int code = of(file)->state->meet(SQLITE_IOERR_TRUNCATE, false)) return code;
  return of(file)->real()->pMethods->xTruncate(of(file)->real(), size);
}

int sync_file(sqlite3_file* file, int flags) {
  if (const int code = of(file)->state->meet(SQLITE_IOERR_FSYNC, true)) return code;
  return of(file)->real()->pMethods->xSync(of(file)->real(), flags);
}

int size_of_file(sqlite3_file* file, sqlite3_int64* size) {
  if (const int code = of(file)->state->meet(SQLITE_IOERR_FSTAT, false)) return code;
  return of(file)->real()->pMethods->xFileSize(of(file)->real(), size);
}

int lock_file(sqlite3_file* file, int level) {
  if (const int code = of(file)->state->meet(SQLITE_IOERR_LOCK, false)) return code;
  return of(file)->real()->pMethods->xLock(of(file)->real(), level);
}

int unlock_file(sqlite3_file* file, int level) {
  return of(file)->real()->pMethods->xUnlock(of(file)->real(), level);
}

int reserved(sqlite3_file* file, int* out) {
  return of(file)->real()->pMethods->xCheckReservedLock(of(file)->real(), out);
}

int control(sqlite3_file* file, int what, void* argument) {
  return of(file)->real()->pMethods->xFileControl(of(file)->real(), what, argument);
}

int sector(sqlite3_file* file) { return of(file)->real()->pMethods->xSectorSize(of(file)->real()); }

int traits(sqlite3_file* file) {
  return of(file)->real()->pMethods->xDeviceCharacteristics(of(file)->real());
}

int map_shared(sqlite3_file* file, int page, int bytes, int extend, void volatile** to) {
  if (const int code = of(file)->state->meet(SQLITE_IOERR_SHMSIZE, extend != 0)) return code;
  return of(file)->real()->pMethods->xShmMap(of(file)->real(), page, bytes, extend, to);
}

int lock_shared(sqlite3_file* file, int offset, int count, int flags) {
  return of(file)->real()->pMethods->xShmLock(of(file)->real(), offset, count, flags);
}

void barrier(sqlite3_file* file) { of(file)->real()->pMethods->xShmBarrier(of(file)->real()); }

int unmap_shared(sqlite3_file* file, int remove) {
  return of(file)->real()->pMethods->xShmUnmap(of(file)->real(), remove);
}

constexpr sqlite3_io_methods kMethods{
    2,           close_file,  read_file,    write_file, truncate_file, sync_file, size_of_file,
    lock_file,   unlock_file, reserved,     control,    sector,        traits,    map_shared,
    lock_shared, barrier,     unmap_shared, nullptr,    nullptr};

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
  FaultVfs::State* state = of(vfs);
  File* mine = of(file);
  mine->base.pMethods = nullptr;
  mine->state = state;
  if (const int code = state->meet(SQLITE_CANTOPEN, (flags & SQLITE_OPEN_CREATE) != 0)) return code;
  std::memset(mine->real(), 0, static_cast<std::size_t>(state->real->szOsFile));
  const int code = state->real->xOpen(state->real, name, mine->real(), flags, out);
  if (mine->real()->pMethods) mine->base.pMethods = &kMethods;
  return code;
}

int delete_file(sqlite3_vfs* vfs, const char* name, int sync) {
  if (const int code = of(vfs)->meet(SQLITE_IOERR_DELETE, false)) return code;
  return of(vfs)->real->xDelete(of(vfs)->real, name, sync);
}

}  // namespace

FaultVfs::FaultVfs(const char* name) : state_(new State) {
  state_->real = sqlite3_vfs_find(nullptr);
  state_->vfs = *state_->real;  // the rest of its functions know files by name only
  state_->vfs.pNext = nullptr;
  state_->vfs.zName = name;
  state_->vfs.pAppData = state_;
  state_->vfs.szOsFile = static_cast<int>(sizeof(File)) + state_->real->szOsFile;
  state_->vfs.xOpen = open_file;
  state_->vfs.xDelete = delete_file;
  sqlite3_vfs_register(&state_->vfs, 0);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&state_->vfs);
  delete state_;
}

void FaultVfs::arm(Fault fault, std::int64_t call) noexcept {
  state_->fault = fault;
  state_->at = state_->calls + call;
  state_->met = false;
}

void FaultVfs::heal() noexcept { state_->at = std::numeric_limits<std::int64_t>::max(); }
std::int64_t FaultVfs::calls() const noexcept { return state_->calls; }
bool FaultVfs::met() const noexcept { return state_->met; }

}  // namespace nsa::test
