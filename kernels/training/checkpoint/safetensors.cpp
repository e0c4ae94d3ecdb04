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
#include "nsa/schemas/output_path.hpp"

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

/// Owns a descriptor of a file or folder that is read. What is neither, as a named pipe, must not
/// be waited for.
class File {
 public:
  explicit File(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const noexcept { return fd_; }

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
      refuse(path, *name + (tensor->begin < at ? ": overlaps another tensor"
                                               : ": bytes before it belong to no tensor"));
    at = tensor->end;
  }
  if (at != data_bytes) refuse(path, "bytes at its end belong to no tensor");
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

void sync_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const File folder(slash == std::string::npos ? "." : path.substr(0, slash + 1));
  if (folder.fd() >= 0) (void)::fsync(folder.fd());
}

}  // namespace

SafetensorsHeader read_safetensors_header(const std::string& path) {
  const File file(path);
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
  const File file(path);
  (void)size_of_file(file, path);
  std::vector<std::byte> bytes(tensor.end - tensor.begin);
  read_at(file, path, header.data_at + tensor.begin, bytes.data(), bytes.size());
  return bytes;
}

void require_writable(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    throw EnvironmentError(path + ": cannot be written: it is a folder");
  const WholeFile begun(path);
}

void write_safetensors(const std::string& path, const std::map<std::string, std::string>& metadata,
                       const std::vector<WrittenTensor>& tensors) {
  try {
    WholeFile file(path);
    const std::string header = header_text(metadata, tensors);
    const std::uint64_t length = header.size();
    file.write({reinterpret_cast<const char*>(&length), sizeof length});
    file.write(header);
    for (const WrittenTensor& tensor : tensors)
      file.write({reinterpret_cast<const char*>(tensor.data()),
                  bytes_of({tensor.dtype, tensor.shape, 0, 0}).value()});
    file.finish();
  } catch (const InputError& error) {  // the path was good when training began
    throw EnvironmentError(error.what());
  }
  sync_folder(path);
}

}  // namespace nsa::training
