// Files of tensors in the safetensors format (https://huggingface.co/docs/safetensors): 8 bytes of
// length, a JSON header, then the data of all tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "nsa/schemas/types.hpp"

namespace nsa::training {

/// A tensor of a file: `begin` and `end` count bytes after the header.
struct StoredTensor {
  Dtype dtype = Dtype::fp32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;
};

/// What a file says it holds.
struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::map<std::string, StoredTensor> tensors;
  std::uint64_t data_at = 0;  // bytes of the file before the data
};

/// One tensor to be written, in the order of the file.
struct WrittenTensor {
  std::string name;
  Dtype dtype = Dtype::fp32;
  std::vector<std::int64_t> shape;
  /// Asked for when its turn has come; lasts until the next one's.
  std::function<const std::byte*()> data;
};

/// Reads and checks the header: every tensor has the bytes that its shape and dtype take, and all
/// of them, one after another, are the rest of the file. InputError "<path>: ..." on anything else.
SafetensorsHeader read_safetensors_header(const std::string& path);
/// Bytes [begin, end) of a tensor of that file.
std::vector<std::byte> read_safetensors(const std::string& path, const SafetensorsHeader& header,
                                        const StoredTensor& tensor);
/// Begins a file beside `path`, as write_safetensors() does, and removes it. EnvironmentError where
/// that fails or `path` is a folder; InputError where it is neither a file nor free to be one.
void require_writable(const std::string& path);
/// Writes the file beside `path`, brings it to the disk and renames it, so that `path` is the old
/// file or the new one at any time. EnvironmentError where the disk is full or cannot be written.
void write_safetensors(const std::string& path, const std::map<std::string, std::string>& metadata,
                       const std::vector<WrittenTensor>& tensors);

}  // namespace nsa::training
