#include "nsa/kernels/heartbeat.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "nsa/kernels/documents.hpp"
#include "nsa/schemas/error.hpp"
#include "nsa/schemas/fields/json.hpp"
#include "nsa/schemas/output_path.hpp"

namespace nsa {
namespace {

/// A record without a time of its own is of 1970.
double ts_of(const Heartbeat& h) { return std::isfinite(h.ts) ? h.ts : 0.0; }

/// ISO 8601 in UTC with milliseconds, of the record's own time.
std::string iso_of(const Heartbeat& h) {
  const double ts = ts_of(h), whole = std::floor(ts);
  const auto seconds = static_cast<std::time_t>(whole);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  char milliseconds[8];
  std::snprintf(milliseconds, sizeof milliseconds, ".%03d", static_cast<int>((ts - whole) * 1000));
  return std::string(text, n) + milliseconds + "Z";
}

std::optional<Json> shares_of(const Heartbeat& h) {
  return h.gate_branch_shares ? std::optional<Json>(*h.gate_branch_shares) : std::nullopt;
}

std::int64_t sum_where(const TelemetryReport& report, std::string_view stage,
                       std::initializer_list<std::string_view> words) {
  std::int64_t sum = 0;
  for (const auto& [names, calls] : report.fallback) {
    const bool here = stage.empty() || names.first == stage;
    bool named = words.size() == 0;
    for (const std::string_view word : words) named |= names.second.starts_with(word);
    if (here && named) sum += calls;
  }
  return sum;
}

/// The seven counters of nsa-vibe; reasons begin with the variant that could not run.
void put_fallbacks(Json& j, const TelemetryReport& r) {
  j["fb_selection_triton_fails"] = sum_where(r, "attend_selected", {"triton"});
  j["fb_selection_cuda_fails"] = sum_where(r, "attend_selected", {"cuda"});
  j["fb_selection_pack_fails"] = sum_where(r, "attend_selected", {"packed", "varlen"});
  j["fb_selection_mask_fails"] = sum_where(r, "attend_selected", {"masked"});
  j["fb_compressed_fa2_fails"] = sum_where(r, "attend_compressed", {"fa2"});
  j["fb_sliding_fa2_fails"] = sum_where(r, "attend_window", {"fa2"});
  j["fb_total_fallbacks"] = sum_where(r, "", {});
}

/// What a record takes over of the counters' own document.
constexpr std::array kOfTelemetry{"sel_k_mean", "sel_k_max", "sel_rows",        "sel_pct_at_max",
                                  "reads_pred", "reads_act", "slow_path_calls", "grow_events",
                                  "engaged",    "fallback",  "unmeasured",      "lengths"};

}  // namespace

namespace fields {

template <>
inline constexpr auto kFields<Heartbeat> =
    std::tuple{required("ts", ts_of),
               required("iso", iso_of),
               required("pid", &Heartbeat::pid),
               required("rank", &Heartbeat::rank),
               required("step", &Heartbeat::step),
               required("msg", &Heartbeat::msg),
               optional("phase", &Heartbeat::phase),
               optional("gpu_mem_alloc", &Heartbeat::gpu_mem_alloc),
               optional("gpu_mem_reserved", &Heartbeat::gpu_mem_reserved),
               optional("loss", &Heartbeat::loss),
               optional("toks_per_s", &Heartbeat::toks_per_s),
               optional("dt_fetch_s", &Heartbeat::dt_fetch_s),
               optional("grad_norm", &Heartbeat::grad_norm),
               optional("gate_entropy_mean", &Heartbeat::gate_entropy_mean),
               optional("gate_entropy_min", &Heartbeat::gate_entropy_min),
               optional("gate_max_gate", &Heartbeat::gate_max_gate),
               optional("gate_collapse_frac", &Heartbeat::gate_collapse_frac),
               optional("gate_branch_shares", shares_of)};

}  // namespace fields

std::string heartbeat_line(const Heartbeat& h) {
  Json j = fields::object_of(h);
  if (h.telemetry) {
    put_fallbacks(j, *h.telemetry);
    const Json counters = telemetry_to_json(*h.telemetry);
    for (const char* field : kOfTelemetry) j[field] = counters[field];
  }
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Heartbeat heartbeat_now(std::int64_t step, std::string msg) {
  Heartbeat h;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  h.ts = std::chrono::duration<double>(now).count();
  h.pid = ::getpid();
  h.step = step;
  h.msg = std::move(msg);
  return h;
}

struct HeartbeatWriter::State {
  struct Close {
    void operator()(std::FILE* open) const noexcept { std::fclose(open); }
  };
  std::string path;
  std::unique_ptr<std::FILE, Close> file;
};

HeartbeatWriter::HeartbeatWriter(std::string path) : state_(std::make_unique<State>()) {
  state_->path = std::move(path);
  // In a shared folder, a link may be another user's and lead to any file of ours, and a named pipe
  // would be waited for until somebody reads it.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int file = ::open(state_->path.c_str(), kFlags, 0666);
  if (file < 0 && errno == ELOOP)
    throw InputError(state_->path + ": is a symbolic link; name the file that it leads to");
  struct stat info {};
  // ENXIO: a pipe that nobody reads, or a socket.
  const bool refused = errno == ENXIO || errno == EISDIR;
  if (file < 0 ? refused : ::fstat(file, &info) == 0 && !S_ISREG(info.st_mode)) {
    if (file >= 0) ::close(file);
    throw InputError(state_->path + ": is not a regular file; name another one for heartbeats");
  }
  if (file >= 0) state_->file.reset(::fdopen(file, "a"));
  if (!state_->file) {
    const int error = errno;
    throw_path_error(error, state_->path + ": cannot be written: " + std::strerror(error) +
                                "; choose a folder that exists and is writable");
  }
}

HeartbeatWriter::~HeartbeatWriter() = default;

const std::string& HeartbeatWriter::path() const noexcept { return state_->path; }

void HeartbeatWriter::append(const Heartbeat& heartbeat) {
  const std::string line = heartbeat_line(heartbeat) + "\n";
  std::FILE* file = state_->file.get();
  const bool written = std::fwrite(line.data(), 1, line.size(), file) == line.size();
  if (!written || std::fflush(file) != 0) {
    throw EnvironmentError(state_->path + ": cannot be written: " + std::strerror(errno));
  }
}

void HeartbeatWriter::progress(std::int64_t step, double tokens_per_s,
                               const TelemetryReport& telemetry) {
  Heartbeat heartbeat = heartbeat_now(step, "progress");
  heartbeat.toks_per_s = tokens_per_s;
  heartbeat.telemetry = telemetry;
  append(heartbeat);
}

}  // namespace nsa
