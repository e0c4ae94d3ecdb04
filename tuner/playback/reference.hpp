// Outputs of a world that wants to be verified: those of a row of ours on the CPU.
#pragma once

#include <cstdint>
#include <map>

#include "worker/session.hpp"

namespace nsa::tuner::playback {

class Reference {
 public:
  Reference();
  /// Prepares the row of ours that stands in for what `request` names. Failed where there is none.
  worker::Reply prepare(const worker::PrepareRequest& request, std::int64_t handle);
  /// Writes its outputs, with every sign turned where they shall be wrong.
  worker::Reply verify(const worker::VerifyRequest& request, bool wrong);
  void release(std::int64_t handle);

 private:
  Session session_;
  std::map<std::int64_t, std::int64_t> handles_;  // of the world: ours
};

}  // namespace nsa::tuner::playback
