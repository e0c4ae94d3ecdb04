#include "train/data.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/generator.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::cli {
namespace {

/// 64 bits of chance for a row of a step.
std::uint64_t chance(std::uint64_t seed, std::int64_t step, std::int64_t row) {
  std::uint64_t x = seed * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(step);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u + static_cast<std::uint64_t>(row);
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

class Synthetic final : public TokenSource {
 public:
  Synthetic(const training::TrainingConfig& config, std::uint64_t seed)
      : rows_(config.accumulate * config.batch),
        length_(config.seq_len + 1),
        vocab_(static_cast<std::uint32_t>(config.model.vocab_size)),
        seed_(seed) {}

  std::vector<std::int32_t> tokens_of(std::int64_t step) const override {
    std::vector<std::int32_t> tokens;
    tokens.reserve(static_cast<std::size_t>(rows_ * length_));
    for (std::int64_t row = 0; row < rows_; ++row) {
      const auto first = static_cast<std::uint32_t>(chance(seed_, step, row));
      std::uint32_t token = first % vocab_;
      for (std::int64_t i = 0; i < length_; ++i) {
        tokens.push_back(static_cast<std::int32_t>(token));
        const std::uint32_t noise = fmix32(first + static_cast<std::uint32_t>(i));
        token = noise % 4 == 0 ? noise / 4 % vocab_ : (token * 5 + 17) % vocab_;
      }
    }
    return tokens;
  }
  std::string name() const override { return "synthetic"; }
  std::string content() const override { return name(); }

 private:
  std::int64_t rows_, length_;
  std::uint32_t vocab_;
  std::uint64_t seed_;
};

/// A regular file that is open for reading.
class File {
 public:
  explicit File(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // of a pipe
    struct stat info {};
    if (fd_ < 0 || ::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
      const std::string reason =
          fd_ < 0 ? std::strerror(errno) : "is not a regular file; name a file of tokens";
      if (fd_ >= 0) ::close(fd_);
      throw InputError("--data: " + path + ": " + reason);
    }
    bytes_ = static_cast<std::size_t>(info.st_size);
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const noexcept { return path_; }
  std::size_t bytes() const noexcept { return bytes_; }
  int descriptor() const noexcept { return fd_; }

  /// Fills `to`. Other programs may write to the file while it is read: it is not mapped, since
  /// pages that are gone end a process.
  void read(std::size_t at, std::vector<unsigned char>& to) const {
    for (std::size_t done = 0; done < to.size();) {
      const ssize_t got =
          ::pread(fd_, to.data() + done, to.size() - done, static_cast<off_t>(at + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0)
        throw EnvironmentError(
            "--data: " + path_ + ": " +
            (got < 0 ? std::strerror(errno) : "became shorter while it was read"));
      done += static_cast<std::size_t>(got);
    }
  }

 private:
  std::string path_;
  int fd_;
  std::size_t bytes_ = 0;
};

/// All of a file at once, as the system maps it: for as long as the program starts.
class Mapping {
 public:
  explicit Mapping(const File& file) : bytes_(file.bytes()) {
    if (bytes_ > 0) data_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (data_ == MAP_FAILED)
      throw EnvironmentError("--data: " + file.path() + ": cannot be mapped");
  }
  ~Mapping() {
    if (data_) ::munmap(data_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  const unsigned char* data() const noexcept { return static_cast<unsigned char*>(data_); }
  std::string_view text() const noexcept { return {static_cast<const char*>(data_), bytes_}; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class FromFile final : public TokenSource {
 public:
  FromFile(const std::string& path, bool wide, const training::TrainingConfig& config,
           std::uint64_t seed)
      : file_(path),
        width_(wide ? 2 : 1),
        vocab_(config.model.vocab_size),
        count_(static_cast<std::int64_t>(file_.bytes()) / width_),
        rows_(config.accumulate * config.batch),
        length_(config.seq_len + 1),
        seed_(seed) {
    if (count_ == 0) throw InputError("--data: " + path + " is empty; name a file of tokens");
    if (count_ < length_)
      throw InputError(
          fmt::format("--data: {} has {} tokens; a sequence of {} and the token after it are {}",
                      path, count_, config.seq_len, length_));
    check_vocabulary();
  }

  std::vector<std::int32_t> tokens_of(std::int64_t step) const override {
    std::vector<std::int32_t> tokens;
    tokens.reserve(static_cast<std::size_t>(rows_ * length_));
    std::vector<unsigned char> bytes(static_cast<std::size_t>(length_ * width_));
    const auto places = static_cast<std::uint64_t>(count_ - length_ + 1);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const auto begin = static_cast<std::int64_t>(chance(seed_, step, row) % places);
      file_.read(static_cast<std::size_t>(begin * width_), bytes);
      for (std::int64_t i = 0; i < length_; ++i) {
        tokens.push_back(token_at(bytes.data(), i));
        if (tokens.back() >= vocab_)
          throw EnvironmentError("--data: " + file_.path() + ": was changed while it was read: " +
                                 outside(tokens.back(), begin + i));
      }
    }
    return tokens;
  }
  std::string name() const override { return file_.path(); }
  std::string content() const override {
    return fmt::format("{} tokens of {} bytes, hash {}", count_, width_,
                       hash_hex(Mapping(file_).text()));
  }

 private:
  std::int32_t token_at(const unsigned char* bytes, std::int64_t i) const {
    const unsigned char* token = bytes + i * width_;
    return width_ == 1 ? token[0] : token[0] | token[1] << 8;
  }
  std::string outside(std::int32_t token, std::int64_t at) const {
    return fmt::format("token {} at {} is not in the model's vocabulary of {}", token, at, vocab_);
  }
  /// All of the file, once: a token in the last sequence must not end a long run.
  void check_vocabulary() const {
    if (vocab_ >= std::int64_t{1} << (8 * width_)) return;
    const Mapping all(file_);
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int32_t token = token_at(all.data(), i);
      if (token >= vocab_) throw InputError("--data: " + file_.path() + ": " + outside(token, i));
    }
  }

  File file_;
  int width_;
  std::int64_t vocab_, count_, rows_, length_;
  std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<TokenSource> synthetic_tokens(const training::TrainingConfig& config,
                                              std::uint64_t seed) {
  return std::make_unique<Synthetic>(config, seed);
}

std::unique_ptr<TokenSource> tokens_of_file(const std::string& path, bool wide,
                                            const training::TrainingConfig& config,
                                            std::uint64_t seed) {
  return std::make_unique<FromFile>(path, wide, config, seed);
}

}  // namespace nsa::cli
