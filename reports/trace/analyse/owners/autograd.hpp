// Which operator is whose backward: by autograd's numbers, or by the arrows that the recorder drew.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analyse/context.hpp"
#include "nsa/trace/model.hpp"

namespace nsa::trace {

/// Ranges at the ends of an arrow; kNone where none of some length begins there.
struct AutogradLink {
  std::uint32_t forward, backward;
};
/// [flows] Of ranges that begin at the same moment it is the outermost.
std::vector<AutogradLink> autograd_links(const Trace& trace);

/// Forward operators by what links their backward to them: autograd's number, else an arrow. A
/// number that operators of two threads bear says nothing.
class Forwards {
 public:
  explicit Forwards(const Trace& trace);

  /// The operator that a GPU operation is the backward of, by the ranges around its launch; kNone:
  /// it is none, or it is not known whose.
  std::uint32_t of_op(const TraceContext& context, std::size_t op) const;
  /// The thread whose backward pass such an operation is of: that of its forward operator, else,
  /// where autograd's engine launched it (accumulation of gradients, hooks), the one thread that
  /// all backward operators of the engine's thread lead to. kNone: it is none, or not known whose.
  std::uint32_t thread_of_op(const TraceContext& context, std::size_t op) const;

 private:
  std::uint32_t of(std::uint32_t backward) const;

  void find_threads();
  /// Into numbers_, those that backward operators bear; numbers_.size(): none of them.
  std::size_t place_of(const HostRange& range) const;

  const Trace& trace_;
  std::vector<std::uint64_t> numbers_;  // with the process, in order
  std::vector<std::uint32_t> forward_;  // [numbers_] kNone: not known
  std::unordered_map<std::uint32_t, std::uint32_t> by_arrow_;
  std::vector<std::uint32_t> works_for_;  // [threads] kNone: for none, or for several
};

}  // namespace nsa::trace
