#include "nsa/tuner/serve.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <optional>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"
#include "nsa/schemas/worker.hpp"
#include "process/busy_poll.hpp"
#include "worker/failure.hpp"
#include "worker/session.hpp"

namespace nsa::tuner {
namespace {

constexpr std::size_t kMaxRequestBytes = 16u << 20;

/// Lines of a file descriptor; nothing at its end or when a line is too long.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}
  /// For so long next() does not sleep.
  void stay_awake(std::chrono::nanoseconds busy) noexcept { busy_ = busy; }
  std::optional<std::string> next() {
    while (true) {
      const std::size_t newline = buffer_.find('\n');
      if (newline != std::string::npos) {
        std::string line = buffer_.substr(0, newline);
        buffer_.erase(0, newline + 1);
        return line;
      }
      if (buffer_.size() > kMaxRequestBytes || !fill()) return std::nullopt;
    }
  }

 private:
  bool fill() {
    std::array<char, 64 << 10> bytes;
    ssize_t got;
    do {
      pollfd input{fd_, POLLIN, 0};
      if (busy_.count() > 0) busy_poll({&input, 1}, -1, busy_);
      got = read(fd_, bytes.data(), bytes.size());
    } while (got < 0 && errno == EINTR);
    if (got > 0) buffer_.append(bytes.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  int fd_;
  std::chrono::nanoseconds busy_{0};
  std::string buffer_;
};

bool write_line(int fd, std::string line) {
  line += '\n';
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t written = write(fd, line.data() + sent, line.size() - sent);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    sent += static_cast<std::size_t>(written);
  }
  return true;
}

/// The id of a request that is otherwise wrong, so that its sender can tell which.
std::int64_t id_in(const std::string& line) {
  const Json request = Json::parse(line, nullptr, false);
  if (!request.is_object()) return 0;
  const auto id = request.find("id");
  return id != request.end() && id->is_number_integer() ? id->get<std::int64_t>() : 0;
}

worker::Reply reply_to(Session& session, const std::string& line, bool& bye) {
  try {
    const worker::Request request = worker::decode_request(line);
    bye = std::holds_alternative<worker::ByeRequest>(request);
    return session.answer(request);
  } catch (const std::exception& error) {
    return worker::FailedReply{id_in(line), Outcome::bad_reply,
                               std::string("request not understood: ") + error.what()};
  }
}

}  // namespace

int serve(int in_fd, int out_fd, const std::string& device, const ServeOptions& options) {
  try {
    Session session(device, options);
    LineReader reader(in_fd);
    while (const auto line = reader.next()) {
      bool bye = false;
      const worker::Reply reply = reply_to(session, *line, bye);
      if (bye) break;
      if (session.on_gpu()) reader.stay_awake(busy_wait());
      set_beacon("waiting for a request");
      if (!write_line(out_fd, worker::encode(reply))) break;
    }
    return static_cast<int>(ExitCode::good);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "worker: %s\n", error.what());
    return static_cast<int>(ExitCode::environment);
  }
}

/// Tensors of a gigabyte come and go: memory that was touched once is kept for the next, since the
/// kernel takes longer to give fresh pages than the device to fill them.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

/// A CUDA context has eight queues for launches unless told otherwise, and takes most of its time
/// to make them and to end them. Our launches use two streams at most; `nsatune run`, which is one
/// process and starts once, keeps the driver's number. Before the first call of CUDA.
void make_few_queues() { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "2", 0); }

int serve_stdio(const std::string& device, const ServeOptions& options) {
  install_beacon();
  keep_freed_memory();
  make_few_queues();
  set_beacon("starting");
  const int protocol = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (protocol < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    std::perror("worker: stdout");
    return static_cast<int>(ExitCode::environment);
  }
  return serve(STDIN_FILENO, protocol, device, options);
}

}  // namespace nsa::tuner
