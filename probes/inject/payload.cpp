#include "inject/payload.hpp"

#include <nvtx3/nvToolsExtPayload.h>

#include <cstring>
#include <string_view>

namespace nsa::inject {
namespace {

std::size_t width_of(std::uint64_t type) {
  switch (type) {
    case NVTX_PAYLOAD_ENTRY_TYPE_SIZE:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT64:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT64:
      return 8;
    case NVTX_PAYLOAD_ENTRY_TYPE_INT:
    case NVTX_PAYLOAD_ENTRY_TYPE_INT32:
    case NVTX_PAYLOAD_ENTRY_TYPE_UINT32:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

Payloads& Payloads::get() {
  static auto* payloads = new Payloads;
  return *payloads;
}

std::uint64_t Payloads::add(const void* domain, const nvtxPayloadSchemaAttr_v1& schema) {
  const auto has = [&](std::uint64_t fields) { return (schema.fieldMask & fields) == fields; };
  Layout layout;
  const bool listed =
      has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES);
  for (std::size_t i = 0; listed && i < schema.numEntries; ++i) {
    const nvtxPayloadSchemaEntry_t& entry = schema.entries[i];
    // No offset: it would follow from the types before it, which need not be known here.
    const bool placed = i == 0 || entry.offset != 0;
    if (!entry.name || entry.flags != 0 || width_of(entry.type) == 0 || !placed) continue;
    const std::string_view name = entry.name;
    const Field field{entry.offset, entry.type};
    if (name == "Message size [bytes]" || name == "Bytes") layout.bytes = field;
    if (name == "NCCL communicator ID") layout.communicator = field;
    if (name == "No. of ranks") layout.ranks = field;
  }
  const std::lock_guard lock(mutex_);
  const std::uint64_t id =
      has(NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID) ? schema.schemaId : ++last_id_;
  layouts_.insert_or_assign({domain, id}, layout);
  return id;
}

std::optional<Sent> Payloads::read(const void* domain, const nvtxPayloadData_v1* payloads,
                                   std::size_t count) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; payloads && i < count; ++i) {
    const nvtxPayloadData_t& payload = payloads[i];
    const auto found = layouts_.find({domain, payload.schemaId});
    if (found == layouts_.end() || !payload.payload || payload.size == SIZE_MAX) continue;
    const auto value = [&](const std::optional<Field>& field) -> std::optional<std::uint64_t> {
      if (!field || field->offset > payload.size) return {};
      const std::size_t width = width_of(field->type);
      if (payload.size - field->offset < width) return {};
      std::uint64_t out = 0;  // little-endian, as all that CUDA runs on
      std::memcpy(&out, static_cast<const char*>(payload.payload) + field->offset, width);
      return out;
    };
    const Layout& layout = found->second;
    Sent sent;
    sent.communicator = value(layout.communicator).value_or(0);
    if (const auto ranks = value(layout.ranks); ranks && sent.communicator != 0)
      ranks_[sent.communicator] = static_cast<std::uint32_t>(*ranks);
    const auto bytes = value(layout.bytes);
    if (!bytes) continue;
    sent.bytes = *bytes;
    if (const auto known = ranks_.find(sent.communicator); known != ranks_.end())
      sent.ranks = known->second;
    return sent;
  }
  return {};
}

}  // namespace nsa::inject
