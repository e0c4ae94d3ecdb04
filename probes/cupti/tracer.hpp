// The one user of CUPTI in this process: subscribed first, so that nobody can take its buffers away
// unseen, and so that who was there before is known by name.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "cupti/api.hpp"
#include "cupti/convert.hpp"

namespace nsa::probes::cupti {

struct Kinds {
  bool copies = true, calls = true, noise_calls = false, synchronisation = true, memory = true,
       overhead = true;
};

/// Who holds CUPTI, where it is not us.
class Held : public std::runtime_error {
 public:
  explicit Held(const std::string& holder)
      : std::runtime_error(holder + " holds CUPTI, which takes one tool at a time"),
        holder_(holder) {}
  const std::string& holder() const noexcept { return holder_; }

 private:
  std::string holder_;
};

class Tracer {
 public:
  /// A call of the API of those that were asked for.
  struct CallEvent {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId id;
    bool begins;
    std::uint32_t correlation;
    const char* kernel;  // that it launches, mangled; null where it is none
  };
  using CallHook = void (*)(const CallEvent& event);
  /// A node of a graph came into being on this thread: by a capture or a call, or as the copy of
  /// `original` when a graph was instantiated. Ids are those of the kernels' records; 0 = not
  /// known.
  struct NodeEvent {
    std::uint64_t node = 0, original = 0;
  };
  using NodeHook = void (*)(const NodeEvent& event);
  /// Full buffers wait for drain(). Called on a thread of the program inside of a launch: it should
  /// do no more than wake another one.
  using BufferHook = void (*)();
  struct Hooks {
    CallHook on_call = nullptr;
    NodeHook on_node = nullptr;
    BufferHook on_buffer = nullptr;
  };

  /// Subscribes under the name "nsatune"; records nothing yet. Held, or EnvironmentError with what
  /// is missing. The sink is borrowed and called from any thread, one call at a time.
  static std::unique_ptr<Tracer> open(RecordSink& sink, const Hooks& hooks);
  /// Who holds CUPTI now, by subscribing for a moment; empty where nobody does or none is there.
  static std::string holder();
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  void start(const Kinds& kinds);
  /// NVTX ranges as well, from now on: before start() or while it records.
  void record_markers();
  /// Ends the recording. The device should be idle: what runs may come without its times.
  void stop();
  /// Hands over what is complete, or with `all` everything there is. Waits for no device.
  void flush(bool all);
  /// Hands over the buffers that CUPTI has given back already. CUPTI does so inside of launches of
  /// the program, which are not held up by what is done with the records.
  void drain();
  /// What is kept of the records that come from now on.
  void keep(const Keep& keep);
  /// Counts, with those that CUPTI dropped.
  spool::SpoolTotals totals();
  /// Operations that came without an end so far, and the name of the latest kernel of them.
  std::uint32_t unfinished();
  std::uint32_t unfinished_kernel();
  /// The latest end of any operation.
  std::int64_t last_end_ns();
  /// Calls the hook around a call of the API, by number.
  void watch(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool on);
  const Api& api() const noexcept { return api_; }
  /// Runs `body` while the sink gets no records.
  void locked(const std::function<void()>& body);

 private:
  explicit Tracer(RecordSink& sink) : api_(shared_api()), sink_(sink), converter_(api_) {}
  void subscribe();
  void watch_nodes();
  void prepare();
  void check(CUptiResult result, const char* call) const;
  void leave_out_noise();
  void set(CUpti_ActivityKind kind, bool on);
  struct Buffer {
    std::uint8_t* bytes;
    std::size_t valid_bytes;
  };
  void queue(const Buffer& buffer);
  void take(const Buffer& buffer);
  void count_dropped();
  static void on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                          const void* data);
  std::uint64_t id_of(CUgraphNode node) const;
  static void on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* records);
  static void on_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid_bytes);

  const Api& api_;
  RecordSink& sink_;
  Hooks hooks_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  Kinds kinds_;
  std::atomic<bool> recording_{false}, markers_{false};
  std::mutex queue_mutex_;
  std::vector<Buffer> queue_;
  std::mutex drain_mutex_;  // held while buffers are on their way to the sink
  std::mutex mutex_;        // of converter, sink and the numbers below
  Converter converter_;
  Keep keep_;
  std::uint64_t dropped_ = 0;
};

/// CLOCK_MONOTONIC, the clock of all records.
std::uint64_t now_ns();

}  // namespace nsa::probes::cupti
