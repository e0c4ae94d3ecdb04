// What NCCL says with its NVTX ranges: binary payloads, in layouts that it registers before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

struct nvtxPayloadData_v1;
struct nvtxPayloadSchemaAttr_v1;

namespace nsa::inject {

/// A message: what one rank gives to a collective, or sends.
struct Sent {
  std::uint64_t bytes = 0;
  std::uint64_t communicator = 0;  // 0 = not known, as in older NCCL
  std::uint32_t ranks = 0;         // of the communicator; 0 = not known
};

/// Knows the fields by their names, so that it does not matter in which order a version of NCCL has
/// them. Thread-safe.
class Payloads {
 public:
  /// One a process, never destroyed.
  static Payloads& get();

  /// A layout of payloads. Its number: the program's own, or a new one.
  std::uint64_t add(const void* domain, const nvtxPayloadSchemaAttr_v1& schema);
  /// The message among the payloads of an event. A communicator that is made is remembered.
  std::optional<Sent> read(const void* domain, const nvtxPayloadData_v1* payloads,
                           std::size_t count);

 private:
  struct Field {
    std::size_t offset = 0;
    std::uint64_t type = 0;
  };
  struct Layout {
    std::optional<Field> bytes, communicator, ranks;
  };

  std::mutex mutex_;  // of all below
  std::map<std::pair<const void*, std::uint64_t>, Layout> layouts_;
  std::map<std::uint64_t, std::uint32_t> ranks_;    // by communicator
  std::uint64_t last_id_ = std::uint64_t{1} << 32;  // NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START
};

}  // namespace nsa::inject
