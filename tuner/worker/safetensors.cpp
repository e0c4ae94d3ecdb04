#include "nsa/tuner/safetensors.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "nsa/schemas/error.hpp"
#include "nsa/schemas/json.hpp"

namespace nsa::tuner {
namespace {

static_assert(std::endian::native == std::endian::little, "the file layout is little-endian");

constexpr std::uint64_t kMaxHeaderBytes = 1u << 20;
constexpr std::array<std::string_view, 5> kNames{"F64", "F32", "BF16", "F16", "I32"};

std::string_view name_of(Dtype dtype) { return kNames[static_cast<std::size_t>(dtype)]; }

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw InputError(fmt::format("{}: no tensors in the safetensors layout: {}", path, what));
}

Json header_of(std::span<const NamedView> tensors) {
  Json header = Json::object();
  std::uint64_t offset = 0;
  for (const auto& [name, view] : tensors) {
    expects(view.contiguous(), "a contiguous tensor to write");
    const std::uint64_t end = offset + view.bytes();
    Json shape = Json::array();
    for (int i = 0; i < view.rank; ++i) shape.push_back(view.shape[static_cast<std::size_t>(i)]);
    header[name] = {
        {"dtype", name_of(view.dtype)}, {"shape", shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  return header;
}

TensorShape shape_from(const Json& entry, const std::string& path, std::uint64_t& bytes) {
  TensorShape shape;
  const std::string dtype = entry.at("dtype").get<std::string>();
  std::size_t index = 0;
  while (index < kNames.size() && kNames[index] != dtype) ++index;
  if (index == kNames.size()) refuse(path, "dtype " + dtype.substr(0, 16));
  shape.dtype = static_cast<Dtype>(index);
  const Json& extents = entry.at("shape");
  if (!extents.is_array() || extents.size() > kMaxRank) refuse(path, "rank over 4");
  bytes = size_of(shape.dtype);
  for (const Json& extent : extents) {
    if (!extent.is_number_unsigned()) refuse(path, "a negative extent");
    const auto value = extent.get<std::uint64_t>();
    if (value != 0 && bytes > (std::uint64_t{1} << 48) / value) refuse(path, "a huge shape");
    bytes *= value;
    shape.shape[static_cast<std::size_t>(shape.rank++)] = static_cast<std::int64_t>(value);
  }
  return shape;
}

HostTensor tensor_from(const std::string& name, const Json& entry, std::string_view data,
                       const std::string& path) {
  std::uint64_t bytes = 0;
  HostTensor tensor{name, shape_from(entry, path, bytes), {}};
  const Json& offsets = entry.at("data_offsets");
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned())
    refuse(path, name + ": data_offsets");
  const auto begin = offsets[0].get<std::uint64_t>(), end = offsets[1].get<std::uint64_t>();
  if (begin > end || end > data.size() || end - begin != bytes)
    refuse(path, name + ": data_offsets do not fit the shape or the file");
  tensor.bytes.resize(bytes);
  if (bytes > 0) std::memcpy(tensor.bytes.data(), data.data() + begin, bytes);
  return tensor;
}

std::string read_bounded(const std::string& path, std::uint64_t max_bytes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) refuse(path, "there is no such file");
  const std::uint64_t bytes = std::filesystem::file_size(path, error);
  if (error || bytes < 8) refuse(path, "it is shorter than 8 bytes");
  if (bytes > max_bytes)
    refuse(path, fmt::format("{} bytes, at most {} expected", bytes, max_bytes));
  std::string text(bytes, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(text.data(), static_cast<std::streamsize>(bytes))) refuse(path, "cannot be read");
  return text;
}

}  // namespace

void write_safetensors(const std::string& path, std::span<const NamedView> tensors) {
  std::string header = header_of(tensors).dump();
  header.append((8 - header.size() % 8) % 8, ' ');  // data begins on a multiple of 8
  const std::uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file.write(header.data(), static_cast<std::streamsize>(length));
  for (const NamedView& tensor : tensors)
    file.write(tensor.view.as<const char>(), static_cast<std::streamsize>(tensor.view.bytes()));
  file.close();
  if (!file) throw EnvironmentError(path + ": cannot be written; is the disk full?");
}

std::vector<HostTensor> read_safetensors(const std::string& path, std::uint64_t max_bytes) {
  const std::string text = read_bounded(path, max_bytes);
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), sizeof length);
  if (length > kMaxHeaderBytes || length > text.size() - 8) refuse(path, "header length");
  const std::string_view all(text);
  const Json header = parse_json(all.substr(8, length), path);
  if (!header.is_object()) refuse(path, "the header is not an object");
  std::vector<HostTensor> tensors;
  try {
    for (const auto& [name, entry] : header.items()) {
      if (name != "__metadata__")
        tensors.push_back(tensor_from(name, entry, all.substr(8 + length), path));
    }
  } catch (const nlohmann::json::exception& error) {
    refuse(path, error.what());
  }
  return tensors;
}

}  // namespace nsa::tuner
