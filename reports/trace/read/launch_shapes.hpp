// The few ways in which a program launches its kernels, each once.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "nsa/trace/model.hpp"

namespace nsa::trace {

class LaunchShapes {
 public:
  /// Fills Trace::shapes, whose first entry means "not recorded".
  explicit LaunchShapes(std::vector<LaunchShape>& shapes) : shapes_(shapes) {}

  /// A shape that is in the list already.
  void adopt(std::size_t index) { ids_.emplace(shapes_[index], static_cast<std::uint32_t>(index)); }
  std::uint32_t intern(const LaunchShape& shape) {
    if (shape == shapes_[last_]) return last_;
    const auto next = static_cast<std::uint32_t>(shapes_.size());
    const auto [at, added] = ids_.emplace(shape, next);
    if (added) shapes_.push_back(shape);
    return last_ = at->second;
  }

 private:
  struct Hash {
    std::size_t operator()(const LaunchShape& s) const noexcept {
      std::size_t hash = s.registers;
      const auto mix = [&](std::uint32_t v) { hash = (hash ^ v) * 0x9e3779b97f4a7c15ULL; };
      for (const auto* three : {&s.grid, &s.block, &s.cluster})
        for (const std::uint32_t v : *three) mix(v);
      mix(s.shared_bytes);
      return hash;
    }
  };
  std::vector<LaunchShape>& shapes_;
  std::unordered_map<LaunchShape, std::uint32_t, Hash> ids_;
  std::uint32_t last_ = 0;
};

}  // namespace nsa::trace
