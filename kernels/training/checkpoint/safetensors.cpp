#include "training/checkpoint/safetensors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>

#include <nlohmann/json.hpp>

#include "nsa/schemas/error.hpp"

namespace nsa::training {
namespace {

using OrderedJson = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");
constexpr std::uint64_t kMostHeader = 100'000'000;  // as the format's own reader
constexpr const char* kMetadata = "__metadata__";
constexpr std::array<std::pair<Dtype, const char*>, 5> kDtypes{{{Dtype::fp64, "F64"},
                                                                {Dtype::fp32, "F32"},
                                                                {Dtype::bf16, "BF16"},
                                                                {Dtype::fp16, "F16"},
                                                                {Dtype::int32, "I32"}}};

std::string system_error() { return std::strerror(errno); }

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw InputError(path + ": " + what);
}

/// Owns a file descriptor.
class File {
 public:
  File(const std::string& path, int flags) : fd_(::open(path.c_str(), flags, 0644)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const noexcept { return fd_; }
  /// Whether the file was closed without an error that a write had kept back.
  bool close() noexcept { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

std::uint64_t size_of_file(const File& file, const std::string& path) {
  struct stat info {};
  if (file.fd() < 0 || ::fstat(file.fd(), &info) != 0)
    refuse(path, "cannot be read: " + system_error());
  if (!S_ISREG(info.st_mode)) refuse(path, "is not a regular file");
  return static_cast<std::uint64_t>(info.st_size);
}

void read_at(const File& file, const std::string& path, std::uint64_t at, std::byte* to,
             std::uint64_t count) {
  while (count > 0) {
    const ssize_t n = ::pread(file.fd(), to, count, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) refuse(path, n == 0 ? "is truncated" : "cannot be read: " + system_error());
    to += n, at += static_cast<std::uint64_t>(n), count -= static_cast<std::uint64_t>(n);
  }
}

Dtype dtype_of(const std::string& path, const std::string& name, const OrderedJson& entry) {
  const auto text = entry.at("dtype").get<std::string>();
  for (const auto& [dtype, known] : kDtypes)
    if (text == known) return dtype;
  refuse(path, name + ": dtype " + text + " is not known");
}

/// Bytes of a tensor; nothing where they do not fit 63 bits.
std::optional<std::uint64_t> bytes_of(const StoredTensor& tensor) {
  std::uint64_t bytes = size_of(tensor.dtype);
  for (const std::int64_t extent : tensor.shape) {
    const auto n = static_cast<std::uint64_t>(extent);
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
    if (extent < 0 || (n > 0 && bytes > kMost / n)) return std::nullopt;
    bytes *= n;
  }
  return bytes;
}

StoredTensor tensor_of(const std::string& path, const std::string& name, const OrderedJson& entry,
                       std::uint64_t data_bytes) {
  StoredTensor tensor;
  tensor.dtype = dtype_of(path, name, entry);
  tensor.shape = entry.at("shape").get<std::vector<std::int64_t>>();
  const auto offsets = entry.at("data_offsets").get<std::array<std::uint64_t, 2>>();
  tensor.begin = offsets[0], tensor.end = offsets[1];
  const auto bytes = bytes_of(tensor);
  if (tensor.begin > tensor.end || !bytes || tensor.end - tensor.begin != *bytes)
    refuse(path, name + ": its place in the file is not that of its shape");
  if (tensor.end > data_bytes) refuse(path, name + ": the file ends before it; it is truncated");
  return tensor;
}

/// The format has the data of the tensors one after another, and nothing else.
void require_gapless(const std::string& path, const SafetensorsHeader& header,
                     std::uint64_t data_bytes) {
  std::vector<std::pair<const StoredTensor*, const std::string*>> in_order;
  for (const auto& [name, tensor] : header.tensors) in_order.emplace_back(&tensor, &name);
  std::ranges::sort(in_order, {},
                    [](const auto& one) { return std::pair(one.first->begin, one.first->end); });
  std::uint64_t at = 0;
  for (const auto& [tensor, name] : in_order) {
    if (tensor->begin != at)
      refuse(path, *name + (tensor->begin < at ? ": lies over another tensor"
                                               : ": bytes before it belong to no tensor"));
    at = tensor->end;
  }
  if (at != data_bytes) refuse(path, "bytes at its end belong to no tensor");
}

void write_all(const File& file, const std::byte* data, std::size_t count,
               const std::string& path) {
  while (count > 0) {
    const ssize_t n = ::write(file.fd(), data, count);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw EnvironmentError(path + ": cannot be written: " + system_error());
    data += n, count -= static_cast<std::size_t>(n);
  }
}

std::string header_text(const std::map<std::string, std::string>& metadata,
                        const std::vector<WrittenTensor>& tensors) {
  OrderedJson header;
  for (const auto& [key, value] : metadata) header[kMetadata][key] = value;
  std::uint64_t at = 0;
  for (const WrittenTensor& tensor : tensors) {
    const auto bytes = bytes_of({tensor.dtype, tensor.shape, 0, 0}).value();
    const char* dtype = "";
    for (const auto& [known, name] : kDtypes)
      if (known == tensor.dtype) dtype = name;
    header[tensor.name] = {
        {"dtype", dtype}, {"shape", tensor.shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  // Bytes that are no UTF-8 (names of files may hold them) are replaced: JSON has none.
  std::string text = header.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');  // the data are aligned to 8
  return text;
}

/// A file beside `path` that becomes it, or is removed.
class Begun {
 public:
  explicit Begun(const std::string& path)
      : to_(path),
        path_(path + ".part"),
        file_(path_, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW) {
    if (file_.fd() < 0) fail(path_);
  }
  ~Begun() {
    if (!done_) ::unlink(path_.c_str());
  }
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;

  void write(const void* data, std::size_t count) {
    write_all(file_, static_cast<const std::byte*>(data), count, path_);
  }
  /// Brings it to the disk and renames it.
  void finish() {
    if (::fsync(file_.fd()) != 0 || !file_.close()) fail(path_);
    if (::rename(path_.c_str(), to_.c_str()) != 0) fail(to_);
    done_ = true;
  }

 private:
  [[noreturn]] static void fail(const std::string& path) {
    throw EnvironmentError(path + ": cannot be written: " + system_error());
  }

  std::string to_, path_;
  File file_;
  bool done_ = false;
};

void sync_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const File folder(slash == std::string::npos ? "." : path.substr(0, slash + 1), O_RDONLY);
  if (folder.fd() >= 0) (void)::fsync(folder.fd());
}

}  // namespace

SafetensorsHeader read_safetensors_header(const std::string& path) {
  const File file(path, O_RDONLY | O_CLOEXEC);
  const std::uint64_t size = size_of_file(file, path);
  std::uint64_t length = 0;
  if (size < sizeof length) refuse(path, "is not a safetensors file: it is too short");
  read_at(file, path, 0, reinterpret_cast<std::byte*>(&length), sizeof length);
  if (length > kMostHeader) refuse(path, "is not a safetensors file: its header is too long");
  if (length > size - sizeof length) refuse(path, "is truncated: it ends within its header");
  std::string text(length, '\0');
  read_at(file, path, sizeof length, reinterpret_cast<std::byte*>(text.data()), length);
  SafetensorsHeader header;
  header.data_at = sizeof length + length;
  try {
    const OrderedJson document = OrderedJson::parse(text);
    if (!document.is_object())
      refuse(path, "is not a safetensors file: its header is not an object");
    for (const auto& [name, entry] : document.items()) {
      if (name == kMetadata) {
        header.metadata = entry.get<std::map<std::string, std::string>>();
      } else {
        header.tensors[name] = tensor_of(path, name, entry, size - header.data_at);
      }
    }
  } catch (const nlohmann::json::exception& error) {
    refuse(path, std::string("is not a safetensors file: ") + error.what());
  }
  require_gapless(path, header, size - header.data_at);
  return header;
}

std::vector<std::byte> read_safetensors(const std::string& path, const SafetensorsHeader& header,
                                        const StoredTensor& tensor) {
  const File file(path, O_RDONLY | O_CLOEXEC);
  (void)size_of_file(file, path);
  std::vector<std::byte> bytes(tensor.end - tensor.begin);
  read_at(file, path, header.data_at + tensor.begin, bytes.data(), bytes.size());
  return bytes;
}

void require_writable(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    throw EnvironmentError(path + ": cannot be written: it is a folder");
  const Begun begun(path);
}

void write_safetensors(const std::string& path, const std::map<std::string, std::string>& metadata,
                       const std::vector<WrittenTensor>& tensors) {
  Begun file(path);
  const std::string header = header_text(metadata, tensors);
  const std::uint64_t length = header.size();
  file.write(&length, sizeof length);
  file.write(header.data(), header.size());
  for (const WrittenTensor& tensor : tensors)
    file.write(tensor.data(), bytes_of({tensor.dtype, tensor.shape, 0, 0}).value());
  file.finish();
  sync_folder(path);
}

}  // namespace nsa::training
