// Right answers that are asked for again and again: all variants of a contest are compared in the
// same rows.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace nsa::reference {

/// Values by key, made once each and kept while there is room, from any thread. `Value` has
/// bytes().
template <class Value>
class KeptRows {
 public:
  /// The value of `key`: make() where it is not known. Two threads may make the same one at once.
  template <class Make>
  std::shared_ptr<const Value> get(std::int64_t key, Make make) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = known_.find(key);
      if (found != known_.end()) return found->second;
    }
    auto made = std::make_shared<const Value>(make());
    const std::lock_guard lock(mutex_);
    const std::size_t bytes = made->bytes() + kEntryBytes;
    if (bytes_ + bytes > kMostBytes) return made;
    if (known_.try_emplace(key, made).second) bytes_ += bytes;
    return made;
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  static constexpr std::size_t kEntryBytes = 128;  // about what the map needs for each

  std::mutex mutex_;
  std::unordered_map<std::int64_t, std::shared_ptr<const Value>> known_;
  std::size_t bytes_ = 0;
};

}  // namespace nsa::reference
