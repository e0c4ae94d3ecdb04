// Which run a sweep goes on with, and who owns it.
#include <cmath>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "file/file_lock.hpp"
#include "nsa/schemas/error.hpp"
#include "rows/row.hpp"
#include "rows/run_row.hpp"
#include "state.hpp"

namespace nsa::store {
namespace {

/// The owner's lock of a run, or nothing when a living process has it.
std::optional<FileLock> try_own(const std::string& path, const std::string& run_id) {
  auto lock = FileLock::acquire(path, owner_byte(run_id), 0);
  if (lock && !lock->share(kSweepByte))
    throw EnvironmentError(path + ": is being pruned; wait for the end, then try again");
  return lock;
}

void set_state(SQLite::Database& db, const std::string& run_id, RunState state,
               const std::optional<std::string>& ended_at) {
  SQLite::Statement update(db, "UPDATE run SET state = ?, ended_at = ? WHERE id = ?");
  bind_values(update, to_string(state), ended_at, run_id);
  expects(update.exec() == 1, "a run that is in the database");
}

/// What keeps `request` from going on with `run`; empty = nothing.
std::string mismatch(const Run& run, const RunRequest& request) {
  if (run.spec_hash != request.spec_hash) return "was made with another spec";
  if (run.build_id != request.build_id) return "was made by another build (" + run.build_id + ")";
  if (run.environment_hash == environment_hash(request.environment)) return {};
  for (const EnvironmentFact& now : request.environment.facts) {
    for (const EnvironmentFact& then : run.environment.facts) {
      if (then.key == now.key && then != now) {
        return fmt::format("was made in another environment ({} was '{}', is '{}')", now.key,
                           then.value, now.value);
      }
    }
  }
  return "was made in another environment (different properties were recorded)";
}

std::pair<Run, FileLock> resume_by_id(SQLite::Database& db, const std::string& path,
                                      const RunRequest& request) {
  auto run = get_run(db, path, *request.resume_id);
  if (!run) {
    throw InputError(fmt::format("--resume {}: {} has no such run; `nsatune db info` lists them",
                                 *request.resume_id, path));
  }
  const std::string why_not = mismatch(*run, request);
  if (!why_not.empty()) {
    throw InputError(fmt::format("--resume {}: the run {}; leave out --resume to start a new run",
                                 *request.resume_id, why_not));
  }
  auto lock = try_own(path, run->id);
  if (!lock) {
    throw InputError(fmt::format("--resume {}: another process is writing this run; end it first",
                                 *request.resume_id));
  }
  set_state(db, run->id, RunState::open, std::nullopt);
  run->state = RunState::open;
  run->ended_at.reset();
  return {std::move(*run), std::move(*lock)};
}

std::optional<std::pair<Run, FileLock>> resume_newest(SQLite::Database& db, const std::string& path,
                                                      const RunRequest& request) {
  auto runs = get_runs(db, path,
                       "state = 'open' AND spec_hash = ? AND build_id = ? AND environment_hash = ? "
                       "AND (julianday('now') - julianday(started_at)) * 86400.0 < "
                       "CAST(? AS REAL)",
                       {request.spec_hash, request.build_id, environment_hash(request.environment),
                        fmt::format("{}", request.resume_within_s)});
  for (Run& run : runs) {
    if (auto lock = try_own(path, run.id)) return std::pair(std::move(run), std::move(*lock));
  }
  return std::nullopt;
}

std::pair<Run, FileLock> begin(SQLite::Database& db, const std::string& path,
                               const RunRequest& request) {
  Run run;
  run.id = make_uuid();
  run.spec_hash = request.spec_hash;
  run.spec_json = request.spec_json;
  run.build_id = request.build_id;
  run.environment = request.environment;
  run.environment_hash = environment_hash(request.environment);
  run.devices = request.devices;
  run.started_at = now_iso8601();
  put_run(db, run);
  put_libraries(db, run.id, request.libraries);
  auto lock = try_own(path, run.id);  // before the commit, so nobody can see the run without owner
  expects(lock.has_value(), "a fresh run without owner");
  return {std::move(run), std::move(*lock)};
}

}  // namespace

OwnedRun::OwnedRun(Run run, bool resumed, int lock_fd) noexcept
    : run_(std::move(run)), resumed_(resumed), lock_fd_(lock_fd) {}
OwnedRun::~OwnedRun() {
  if (lock_fd_ >= 0) close(lock_fd_);
}
OwnedRun::OwnedRun(OwnedRun&& other) noexcept
    : run_(std::move(other.run_)),
      resumed_(other.resumed_),
      lock_fd_(std::exchange(other.lock_fd_, -1)) {}

OwnedRun Store::open_run(const RunRequest& request) {
  expects(!(request.always_new && request.resume_id), "--new or --resume, not both");
  return state_->use([&](SQLite::Database& db) {
    SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
    std::optional<std::pair<Run, FileLock>> owned;
    if (request.resume_id) {
      owned = resume_by_id(db, state_->path, request);
    } else if (!request.always_new) {
      owned = resume_newest(db, state_->path, request);
    }
    const bool resumed = owned.has_value();
    if (!resumed) owned = begin(db, state_->path, request);
    transaction.commit();
    return OwnedRun(std::move(owned->first), resumed, owned->second.release());
  });
}

void Store::end_run(const std::string& run_id, RunState state) {
  expects(state != RunState::open, "a run to end as complete or incomplete");
  state_->use([&](SQLite::Database& db) {
    set_state(db, run_id, state, now_iso8601());
    keep_series(db, state_->path);
  });
}

std::vector<Run> Store::runs() const {
  return state_->use([&](SQLite::Database& db) { return get_runs(db, state_->path, "1", {}); });
}

std::vector<Capability> Store::libraries(const std::string& run_id) const {
  return state_->use([&](SQLite::Database& db) { return get_libraries(db, run_id); });
}

std::optional<Run> Store::find_run(const std::string& id_or_prefix) const {
  return state_->use([&](SQLite::Database& db) { return get_run(db, state_->path, id_or_prefix); });
}

std::optional<Run> Store::newest_run(const std::string& device_uuid,
                                     const std::optional<std::string>& executor) const {
  return state_->use([&](SQLite::Database& db) -> std::optional<Run> {
    const std::string of_it = executor ? " AND m.executor = ?" : "";
    std::vector<std::string> parameters{device_uuid};
    if (executor) parameters.push_back(*executor);
    auto runs = get_runs(db, state_->path,
                         "r.id = (SELECT n.id FROM run n WHERE EXISTS (SELECT 1 FROM measurement m "
                         "JOIN placement l ON l.id = m.placement_id WHERE m.run_id = n.id AND "
                         "l.device_uuid = ?" +
                             of_it + ") ORDER BY n.started_at DESC, n.rowid DESC LIMIT 1)",
                         parameters);
    return runs.empty() ? std::nullopt : std::optional(std::move(runs.front()));
  });
}

}  // namespace nsa::store
