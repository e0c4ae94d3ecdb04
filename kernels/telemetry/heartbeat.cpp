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
#include "nsa/schemas/json.hpp"

namespace nsa {
namespace {

/// ISO 8601 in UTC with milliseconds, of the record's own time.
std::string iso_of(double ts) {
  const double whole = std::floor(ts);
  const auto seconds = static_cast<std::time_t>(whole);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  char milliseconds[8];
  std::snprintf(milliseconds, sizeof milliseconds, ".%03d", static_cast<int>((ts - whole) * 1000));
  return std::string(text, n) + milliseconds + "Z";
}

void put(Json& j, const char* key, const std::optional<double>& value) {
  if (value && std::isfinite(*value)) j[key] = *value;
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

void put_telemetry(Json& j, const TelemetryReport& r) {
  put_fallbacks(j, r);
  j["sel_k_mean"] = r.sel_k_mean;
  j["sel_k_max"] = r.sel_k_max;
  j["sel_rows"] = r.sel_rows;
  j["sel_pct_at_max"] = r.sel_pct_at_max;
  j["reads_pred"] = r.reads_pred;
  j["reads_act"] = r.reads_act;
  j["slow_path_calls"] = r.slow_path_calls;
  j["grow_events"] = r.grow_events;
  const Json all = telemetry_to_json(r);
  j["engaged"] = all["engaged"];
  j["fallback"] = all["fallback"];
  j["unmeasured"] = all["unmeasured"];
  j["lengths"] = all["lengths"];
}

}  // namespace

std::string heartbeat_line(const Heartbeat& h) {
  Json j = Json::object();
  j["ts"] = std::isfinite(h.ts) ? h.ts : 0.0;
  j["iso"] = iso_of(j["ts"].get<double>());
  j["pid"] = h.pid;
  j["rank"] = h.rank;
  j["step"] = h.step;
  j["msg"] = h.msg;
  if (h.phase) j["phase"] = *h.phase;
  if (h.gpu_mem_alloc) j["gpu_mem_alloc"] = *h.gpu_mem_alloc;
  if (h.gpu_mem_reserved) j["gpu_mem_reserved"] = *h.gpu_mem_reserved;
  put(j, "loss", h.loss);
  put(j, "toks_per_s", h.toks_per_s);
  put(j, "dt_fetch_s", h.dt_fetch_s);
  put(j, "grad_norm", h.grad_norm);
  put(j, "gate_entropy_mean", h.gate_entropy_mean);
  put(j, "gate_entropy_min", h.gate_entropy_min);
  put(j, "gate_max_gate", h.gate_max_gate);
  put(j, "gate_collapse_frac", h.gate_collapse_frac);
  if (h.gate_branch_shares) j["gate_branch_shares"] = *h.gate_branch_shares;
  if (h.telemetry) put_telemetry(j, *h.telemetry);
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
    throw EnvironmentError(state_->path + ": cannot be opened for appending (" +
                           std::strerror(errno) + "); choose a folder that exists and is writable");
  }
}

HeartbeatWriter::~HeartbeatWriter() = default;

const std::string& HeartbeatWriter::path() const noexcept { return state_->path; }

void HeartbeatWriter::append(const Heartbeat& heartbeat) {
  const std::string line = heartbeat_line(heartbeat) + "\n";
  std::FILE* file = state_->file.get();
  const bool written = std::fwrite(line.data(), 1, line.size(), file) == line.size();
  if (!written || std::fflush(file) != 0) {
    throw EnvironmentError(state_->path + ": cannot be written (" + std::strerror(errno) + ")");
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
