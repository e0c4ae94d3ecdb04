// Scratch memory of a launch: an arena over the caller's allocator that counts when it has to grow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/measurement.hpp"

namespace nsa {

/// The allocator has no room: the outcome `out_of_memory` of an experiment.
class OutOfMemory : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where memory comes from. CPU or device memory: the workspace never touches what it hands out.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// At least `bytes`, aligned to 256. Throws OutOfMemory.
  virtual void* allocate(std::size_t bytes) = 0;
  /// What allocate(bytes) gave, never null.
  virtual void deallocate(void* data, std::size_t bytes) noexcept = 0;
};

/// Host memory from the standard library.
Allocator& host_allocator() noexcept;

/// Bump arena, not thread-safe: one per stream and caller. It begins with reserve(reserve_bytes).
class Workspace {
 public:
  explicit Workspace(Allocator& allocator = host_allocator(), std::size_t reserve_bytes = 0);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// `bytes`, uninitialised, aligned to 256, until reset(). Counts growing. Throws OutOfMemory.
  void* take(std::size_t bytes);
  /// `count` elements of T, 0 or more; likewise.
  template <class T>
  std::span<T> take(std::int64_t count) {
    const auto n = static_cast<std::size_t>(count);
    return {static_cast<T*>(take(n * sizeof(T))), n};
  }
  /// Forgets what was taken; memory that had grown becomes one piece. Throws OutOfMemory.
  void reset();
  /// A place to come back to. `used`: bytes; the other fields are the workspace's own.
  struct Mark {
    std::size_t chunk = 0, used_in_chunk = 0, used = 0;
  };
  /// Where it stands now.
  Mark mark() const noexcept;
  /// What was taken since that mark() is free again, so that stages that run one after another
  /// share memory. No mark survives a reset().
  void rewind(const Mark& mark) noexcept;
  /// Makes room for `bytes`, uncounted. ContractError while something is taken; OutOfMemory.
  void reserve(std::size_t bytes);
  /// Remembers the largest need of each kind, for telemetry and the tuner's reserves.
  void note_need(const ReserveNeed& need) noexcept;

  /// The most that was taken at one time, each piece rounded up to 256 bytes.
  std::size_t peak_bytes() const noexcept;
  /// What its pieces of memory hold together.
  std::size_t capacity_bytes() const noexcept;
  /// How often take() had to ask the allocator.
  std::int64_t grow_events() const noexcept;
  /// The largest that note_need() was told, field by field.
  const ReserveNeed& need() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Gives back on scope exit what was taken inside the scope.
struct WorkspaceScope {
  explicit WorkspaceScope(Workspace& of) noexcept : workspace(of), mark(of.mark()) {}
  ~WorkspaceScope() { workspace.rewind(mark); }
  WorkspaceScope(const WorkspaceScope&) = delete;
  WorkspaceScope& operator=(const WorkspaceScope&) = delete;

  Workspace& workspace;
  const Workspace::Mark mark;
};

}  // namespace nsa
