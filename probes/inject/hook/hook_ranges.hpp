// Ranges that a hook in the program opens by itself, without NVTX: modules of PyTorch with their
// forward and backward passes, waits for data, optimizers, collectives, and the steps between
// optimizers. docs/tracer.md says where they come from.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "inject/ranges.hpp"
#include "inject/spool_file.hpp"

namespace nsa::inject {

/// One a process, never destroyed. What happens while nothing is recorded leaves no range, but for
/// the end of one that was recorded. Any thread may call; events wait here until collect(). The
/// process's own may be called in a child that was forked, too.
class HookRanges {
 public:
  using Module = std::uint32_t;  // by its number, from 1; 0 = none
  using Name = std::uint32_t;    // by its number, from 1; 0 = no range

  static HookRanges& get();
  HookRanges();

  Name name(std::string_view text);
  /// An object of the program, by its address, with what its ranges are called; a module that no
  /// range belongs to has no names. `parent`: the module whose forward pass calls it.
  Module add_module(const void* object, Name forward, Name backward, Module parent);
  /// The object is gone; its address may be another one's.
  void forget_module(Module module);

  enum class Known { yes, no, no_but_inside };
  /// A module's forward pass begins on this thread. Nothing happens for one that is not known:
  /// `no_but_inside` where a known one is open around it.
  Known forward_begins(const void* object);
  /// It ends, with all that was left open in it. The module, where its backward pass has a name.
  Module forward_ends(const void* object);
  /// Autograd reaches a module on this thread: the module and those around it are open from now
  /// on, others no longer. True where no backward pass was open in the process.
  bool backward_begins(Module module);
  /// Autograd is through, on whatever thread.
  void backward_ends();
  /// Anything else on this thread.
  void begin(Name name);
  void end();

  /// The program does what belongs to its first step.
  void loop_begins();
  /// A step ends here, and the next one begins.
  void step_ends();

  /// The step with that number begins at a moment, and what was before it ends: which was recorded
  /// until then, or not.
  void next_step(std::int64_t index, std::int64_t at_ns, bool was_recorded);

  /// What one call of any module costs the program since the hook is there. Calls that were made to
  /// find that out do not count.
  void set_cost_ns(double ns) {
    cost_ns_ = ns;
    calls_ = 0;
  }
  double cost_ns() const { return cost_ns_; }
  /// Calls of modules while something was recorded.
  std::uint64_t calls() const { return calls_.load(); }
  /// From the first of them to the last.
  std::int64_t calls_span_ns() const { return last_call_ns_ - first_call_ns_; }
  /// A hook has come in.
  void attach() { attached_ = true; }
  bool attached() const { return attached_; }
  /// The program runs compiled code, whose modules no hook sees.
  void compiled_code() { compiled_code_ = true; }
  bool has_compiled_code() const { return compiled_code_; }
  /// A hook tells nothing more: what is open ends, on whatever thread.
  void stop(std::string_view why);
  /// Why, a line for each that did.
  std::vector<std::string> stopped();

  /// Ranges since the last time to the spool, as markers. One thread at a time.
  void collect(SpoolFile& spool);

 private:
  struct Entry {
    const void* object = nullptr;
    Name forward = 0, backward = 0;
    Module parent = 0;
  };
  struct Frame {
    Module module = 0;
    std::uint64_t id = 0;  // of its markers; 0 = not recorded
    bool pushed = false;   // is among the open ranges of the thread
  };
  struct Thread {
    std::uint32_t thread = 0;
    ThreadRanges open;
    std::vector<Frame> forward, backward;
  };
  struct Event {
    std::int64_t at_ns = 0;
    std::uint64_t id = 0;
    spool::MarkerWhat what = spool::MarkerWhat::begin;
    std::uint32_t name = 0;  // of the hook, from collect() on of the spool
    std::uint32_t thread = 0;
    std::int64_t step = -1;  // names the range, where there is one
  };

  Thread& this_thread();
  void count_call();
  Frame opened(Thread& thread, Name name, Module module);
  void close(Thread& thread, std::vector<Frame>& frames);
  std::vector<Module> chain_of(Module module) const;

  const std::uint64_t serial_;  // no other has it, before or after
  std::mutex mutex_;            // of all below
  std::vector<std::string> names_{""};
  std::vector<std::uint32_t> texts_{0};  // of the spool, by name; 0 = not there yet
  std::unordered_map<std::string, Name> numbers_;
  std::vector<Entry> modules_{Entry{}};
  std::unordered_map<const void*, Module> by_object_;
  std::vector<std::shared_ptr<Thread>> threads_;
  std::vector<Event> events_;
  std::uint64_t last_id_ = std::uint64_t{1} << 63;  // CUPTI counts from 1
  std::vector<std::string> stopped_;
  bool looping_ = false, step_recorded_ = false;
  std::int64_t step_begin_ns_ = 0;

  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::int64_t> first_call_ns_{0}, last_call_ns_{0};
  std::atomic<double> cost_ns_{0};
  std::atomic<bool> attached_{false}, compiled_code_{false};
};

}  // namespace nsa::inject
