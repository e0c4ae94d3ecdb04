// The window branch on a stream of its own, beside the others.
#pragma once

#include <functional>

#include "attention.hpp"

namespace nsa {

/// A context whose stream runs beside the caller's, from here to join().
class Beside {
 public:
  /// `streams` has fork() and join() as RuntimeOps; it and `main` outlive this.
  template <class Streams>
  Beside(const Context& main, const Streams& streams)
      : context_(main), join_([&main, &streams] { streams.join(main); }) {
    context_.stream = streams.fork(main);
  }
  // Another exception is on its way; the caller's stream waits for what reads and writes its
  // tensors also then, as far as that can be had.
  ~Beside() {
    try {
      if (open_) join();
    } catch (...) {
    }
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  const Context& context() const noexcept { return context_; }
  void join() {
    open_ = false;
    join_();
  }

 private:
  Context context_;
  std::function<void()> join_;
  bool open_ = true;
};

/// Whether the plan has the window branch beside the others, on a back end that can.
inline bool plans_window_beside(const Context& context) noexcept {
  return plan_of(context.within).window_beside &&
         context.router->inputs().device.backend != Backend::cpu;
}
/// Whether that row can be there: the branches take the one workspace in turns.
inline bool may_run_beside(const Variant* row, const Problem& problem) {
  return row && workspace_of(*row, problem) == 0;
}

}  // namespace nsa
