// How the injected tracer comes up.
#include "inject/injector.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>

#include "cupti/call_names.hpp"
#include "inject/driver.hpp"
#include "inject/hook/python_stacks.hpp"
#include "inject/host_stacks.hpp"
#include "inject/ranges.hpp"
#include "nsa/schemas/trace_request.hpp"

namespace nsa::inject {
namespace {

namespace cupti = probes::cupti;

std::atomic<Injector*> injector{nullptr};

std::int32_t number_of(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const char* text = std::getenv(name); text && *text) return std::atoi(text);
  return -1;
}

spool::SpoolHeader make_header() {
  spool::SpoolHeader header;
  header.process = static_cast<std::uint32_t>(getpid());
  if (const char* recorder = std::getenv(spool::kEnvRecorder))
    header.recorder = std::strtoull(recorder, nullptr, 10);
  header.parent_process = static_cast<std::uint32_t>(getppid());
  header.start_ns = monotonic_now_ns();
  header.start_realtime_ns = realtime_now_ns();
  header.rank = number_of({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
  header.world_size = number_of({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"});
  header.local_rank = number_of({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"});
  return header;
}

/// Arguments of this process, with spaces between them.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text)
    if (c == '\0') c = ' ';
  return text;
}

std::string link_target(const char* path) {
  std::array<char, 4096> target{};
  const ssize_t length = readlink(path, target.data(), target.size() - 1);
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : std::string();
}

const char* window_word(WindowKind kind) {
  constexpr std::array kWords{"all", "steps", "seconds", "calls", "profiler_api"};
  return kWords[static_cast<std::size_t>(kind)];
}

void forget_in_child() { injector.store(nullptr); }

void finish_at_exit() {
  if (Injector* here = Injector::get()) here->finish();
}

}  // namespace

/// Passes CUPTI's records on to the spool.
struct Injector::Sink final : cupti::RecordSink {
  explicit Sink(SpoolFile& to) : spool(to) {}
  std::uint32_t text(std::string_view text) override { return spool.text(text); }
  void append(const void* record, std::uint32_t bytes) override { spool.append(record, bytes); }
  SpoolFile& spool;
};

Injector* Injector::get() { return injector.load(); }

void Injector::start(const Request& request) {
  auto* made = new Injector(request);  // never freed, see the header
  if (!made->spool_.open(request.folder, make_header())) {
    std::fprintf(stderr, "nsatune: not traced: %s\n", made->spool_.reason().c_str());
    delete made;
    return;
  }
  made->started_ns_ = made->last_progress_ns_ = monotonic_now_ns();
  made->describe();
  made->open_tracer();
  made->spool_.metadata("window", window_word(made->request_.window.kind));
  injector.store(made);
  {
    const std::lock_guard lock(made->phase_mutex_);
    made->enter(first_phase(made->request_.window), false);
  }
  if (request.hang_ms > 0) prime_host_stacks();
  made->spool_.flush();
  made->thread_ = std::thread([made] { made->run(); });
  PythonStacks::get().start(request.python_stacks_us * 1000);
  pthread_atfork(nullptr, nullptr, forget_in_child);
  std::atexit(finish_at_exit);
}

void Injector::describe() {
  spool_.metadata("command", command_line());
  spool_.metadata("executable", link_target("/proc/self/exe"));
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  spool_.metadata("host", host.data());
  spool_.metadata("driver", nvml_.driver_version());
  spool_.metadata("driver_cuda", driver_cuda_version());
  spool_.metadata("clock", "CLOCK_MONOTONIC");
  spool_.metadata("cupti_header", std::to_string(CUPTI_API_VERSION));
  if (!request_.complaint.empty()) spool_.note(spool::NoteWhat::error, request_.complaint);
}

void Injector::open_tracer() {
  sink_ = std::make_unique<Sink>(spool_);
  try {
    cupti::Tracer::Hooks hooks;
    hooks.on_call = [](const cupti::Tracer::CallEvent& event) {
      if (Injector* here = Injector::get()) here->on_call(event);
    };
    hooks.on_node = [](const cupti::Tracer::NodeEvent& event) {
      if (Injector* here = Injector::get()) here->on_node(event);
    };
    hooks.on_buffer = [] {
      if (Injector* here = Injector::get()) here->on_buffer();
    };
    tracer_ = cupti::Tracer::open(*sink_, hooks);
    spool_.metadata("tracer", "full");
    spool_.metadata("cupti_library", std::to_string(tracer_->api().version()));
    anchor();
    watch_calls();
  } catch (const cupti::Held& held) {
    spool_.metadata("subscriber_in_the_way", held.holder());
    time_ranges(held.what());
  } catch (const std::exception& error) {
    time_ranges(error.what());
  }
}

/// What is left without CUPTI, and why it is.
void Injector::time_ranges(const std::string& why) {
  spool_.metadata("tracer", "degraded");
  anchor();
  if (!driver().complete()) return spool_.note(spool::NoteWhat::nothing, why);
  spool_.note(spool::NoteWhat::degraded, why);
  spool_.note(spool::NoteWhat::information,
              "kernels are not recorded; NVTX ranges are timed by events on the default stream, "
              "which do not see streams that were made non-blocking");
  timer_ = std::make_unique<RangeTimer>(spool_, driver());
  WindowKind& window = request_.window.kind;
  if (window != WindowKind::calls && window != WindowKind::profiler_api) return;
  window = WindowKind::all;
  spool_.note(spool::NoteWhat::information,
              "calls are not seen without CUPTI: ranges are timed from the start to the end");
}

/// Calls whose callback is wanted: what starts and stops a recording, and launches to be counted or
/// to be asked for their kernel.
void Injector::watch_calls() {
  const Window& w = request_.window;
  const bool of_profiler = w.kind == WindowKind::profiler_api;
  const bool of_launches = w.kind == WindowKind::calls || !w.step_kernel.empty();
  if (!of_profiler && !of_launches) return;
  for (const auto domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API}) {
    const char* name = nullptr;
    for (CUpti_CallbackId id = 1;
         tracer_->api().callback_name(domain, id, &name) == CUPTI_SUCCESS && name; ++id) {
      const std::string plain = cupti::plain_call_name(name);
      const bool launches = cupti::is_kernel_launch(plain) || cupti::is_graph_launch(plain);
      const bool profiler = plain == "cuProfilerStart" || plain == "cuProfilerStop";
      if ((of_launches && launches) || (of_profiler && profiler)) tracer_->watch(domain, id, true);
    }
  }
}

void Injector::anchor() {
  spool::SpoolAnchor anchor;
  anchor.monotonic_ns = monotonic_now_ns();
  anchor.realtime_ns = realtime_now_ns();
  std::uint64_t cupti_ns = 0;
  if (tracer_ && tracer_->api().timestamp(&cupti_ns) == CUPTI_SUCCESS) anchor.cupti_ns = cupti_ns;
  spool_.append(anchor);
}

void Injector::mark(spool::MarkWhat what, std::int64_t index, std::string_view name) {
  spool::SpoolMark m;
  m.at_ns = monotonic_now_ns();
  m.index = index;
  m.what = what;
  m.name = spool_.text(name);
  spool_.append(m);
}

}  // namespace nsa::inject
