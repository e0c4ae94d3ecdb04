// Operations that moved data between GPUs, with what was sent.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyse/context.hpp"
#include "message.hpp"

namespace nsa::trace {

/// What one device did for a collective: one operation, or all that one call launched.
struct CommCall {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t op_ns = 0;  // of its operations, added up
  DeviceKey device;
  std::uint32_t kind = 0;  // into CommCalls::kinds
  std::uint32_t first_op = 0;
};

/// What is told apart: a message by one way.
struct CommKind {
  std::string transport, collective;
  Message message;
};

struct CommCalls {
  std::vector<CommKind> kinds;
  std::vector<CommCall> calls;  // in order of start
};

CommCalls comm_calls(const TraceContext& context);

}  // namespace nsa::trace
