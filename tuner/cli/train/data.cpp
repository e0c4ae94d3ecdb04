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

/// A file in memory, as the system maps it.
class Mapping {
 public:
  explicit Mapping(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // of a pipe
    struct stat info {};
    if (fd < 0 || ::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
      const std::string reason =
          fd < 0 ? std::strerror(errno) : "is not a regular file; name a file of tokens";
      if (fd >= 0) ::close(fd);
      throw InputError("--data: " + path + ": " + reason);
    }
    bytes_ = static_cast<std::size_t>(info.st_size);
    if (bytes_ > 0) data_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
    ::close(fd);
    if (data_ == MAP_FAILED) throw EnvironmentError("--data: " + path + ": cannot be mapped");
  }
  ~Mapping() {
    if (data_) ::munmap(data_, bytes_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::size_t bytes() const noexcept { return bytes_; }
  const unsigned char* data() const noexcept { return static_cast<unsigned char*>(data_); }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

class FromFile final : public TokenSource {
 public:
  FromFile(const std::string& path, bool wide, const training::TrainingConfig& config,
           std::uint64_t seed)
      : path_(path),
        file_(path),
        width_(wide ? 2 : 1),
        count_(static_cast<std::int64_t>(file_.bytes()) / width_),
        rows_(config.accumulate * config.batch),
        length_(config.seq_len + 1),
        seed_(seed) {
    if (count_ == 0) throw InputError("--data: " + path + " is empty; name a file of tokens");
    if (count_ < length_)
      throw InputError(
          fmt::format("--data: {} has {} tokens; a sequence of {} and the token after it are {}",
                      path, count_, config.seq_len, length_));
    check_vocabulary(config.model.vocab_size);
  }

  std::vector<std::int32_t> tokens_of(std::int64_t step) const override {
    std::vector<std::int32_t> tokens;
    tokens.reserve(static_cast<std::size_t>(rows_ * length_));
    const auto places = static_cast<std::uint64_t>(count_ - length_ + 1);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const auto begin = static_cast<std::int64_t>(chance(seed_, step, row) % places);
      for (std::int64_t i = 0; i < length_; ++i) tokens.push_back(at(begin + i));
    }
    return tokens;
  }
  std::string name() const override { return path_; }
  std::string content() const override {
    const std::string_view bytes(reinterpret_cast<const char*>(file_.data()), file_.bytes());
    return fmt::format("{} tokens of {} bytes, hash {}", count_, width_, hash_hex(bytes));
  }

 private:
  std::int32_t at(std::int64_t i) const {
    const unsigned char* token = file_.data() + i * width_;
    return width_ == 1 ? token[0] : token[0] | token[1] << 8;
  }
  /// All of the file, once: a token in the last sequence must not end a long run.
  void check_vocabulary(std::int64_t vocab) const {
    if (vocab >= std::int64_t{1} << (8 * width_)) return;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (at(i) >= vocab)
        throw InputError(
            fmt::format("--data: {}: token {} at {} is not in the model's vocabulary of {}", path_,
                        at(i), i, vocab));
    }
  }

  std::string path_;
  Mapping file_;
  int width_;
  std::int64_t count_, rows_, length_;
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
