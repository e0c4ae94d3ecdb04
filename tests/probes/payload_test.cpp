// Payloads of NVTX as NCCL fills them: which field is which, by what its layout says.
#include "inject/payload.hpp"

#include <nvtx3/nvToolsExtPayload.h>

#include <vector>

#include "catch.hpp"

using nsa::inject::Payloads;
using nsa::inject::Sent;

namespace {

constexpr std::uint64_t kAllReduce = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 5;
constexpr std::uint64_t kCommInit = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START;
constexpr std::uint64_t kOperation = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 16;
const int kDomain = 0, kOther = 0;

/// As ncclAllReduce has it, in versions that name the communicator and in older ones.
struct New {
  std::uint64_t communicator;
  std::size_t bytes;
  int operation;
};
struct Old {
  std::size_t bytes;
  int operation;
};
struct Made {
  std::uint64_t communicator;
  int ranks, rank, device;
};

nvtxPayloadSchemaEntry_t entry(std::uint64_t type, const char* name, std::size_t offset) {
  nvtxPayloadSchemaEntry_t out{};
  out.type = type;
  out.name = name;
  out.offset = offset;
  return out;
}

std::uint64_t add(Payloads& to, std::uint64_t id,
                  const std::vector<nvtxPayloadSchemaEntry_t>& entries) {
  nvtxPayloadSchemaAttr_t schema{};
  schema.fieldMask =
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
  if (id != 0) schema.fieldMask |= NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
  schema.entries = entries.data();
  schema.numEntries = entries.size();
  schema.schemaId = id;
  return to.add(&kDomain, schema);
}

void add_new(Payloads& to) {
  add(to, kAllReduce,
      {entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", 0),
       entry(NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", offsetof(New, bytes)),
       entry(kOperation, "Reduction operation", offsetof(New, operation))});
  add(to, kCommInit,
      {entry(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "NCCL communicator ID", 0),
       entry(NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks", offsetof(Made, ranks)),
       entry(NVTX_PAYLOAD_ENTRY_TYPE_INT, "Rank", offsetof(Made, rank))});
}

template <class Payload>
std::optional<Sent> read(Payloads& from, std::uint64_t id, const Payload& payload,
                         std::size_t size = sizeof(Payload), const void* domain = &kDomain) {
  const nvtxPayloadData_t data{id, size, &payload};
  return from.read(domain, &data, 1);
}

}  // namespace

TEST_CASE("a message of NCCL has its bytes, its communicator and how many ranks that has",
          "[probes]") {
  Payloads payloads;
  add_new(payloads);
  const New message{0xfeedfacecafebeef, 32 << 20, 0};
  auto sent = read(payloads, kAllReduce, message);
  REQUIRE(sent);
  CHECK(sent->bytes == 32 << 20);
  CHECK(sent->communicator == 0xfeedfacecafebeef);
  CHECK(sent->ranks == 0);  // made before the library came in
  CHECK_FALSE(read(payloads, kCommInit, Made{0xfeedfacecafebeef, 8, 1, 1}));
  CHECK_FALSE(read(payloads, kCommInit, Made{0xabc, 2, 1, 1}));
  sent = read(payloads, kAllReduce, message);
  REQUIRE(sent);
  CHECK(sent->ranks == 8);
}

TEST_CASE("a version of NCCL that names no communicator has the bytes alone", "[probes]") {
  Payloads payloads;
  add(payloads, kAllReduce,
      {entry(NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", 0),
       entry(kOperation, "Reduction operation", offsetof(Old, operation))});
  const auto sent = read(payloads, kAllReduce, Old{4096, 0});
  REQUIRE(sent);
  CHECK(sent->bytes == 4096);
  CHECK(sent->communicator == 0);
  CHECK(sent->ranks == 0);
}

TEST_CASE("nothing is read of what is not known or too short", "[probes]") {
  Payloads payloads;
  add_new(payloads);
  const New message{1, 4096, 0};
  CHECK_FALSE(read(payloads, kAllReduce + 1, message));                       // no such layout
  CHECK_FALSE(read(payloads, kAllReduce, message, sizeof message, &kOther));  // of another domain
  CHECK_FALSE(read(payloads, kAllReduce, message, 12));  // ends within the size
  CHECK_FALSE(read(payloads, kAllReduce, message, SIZE_MAX));
  CHECK_FALSE(payloads.read(&kDomain, nullptr, 1));
  const nvtxPayloadData_t empty{kAllReduce, sizeof message, nullptr};
  CHECK_FALSE(payloads.read(&kDomain, &empty, 1));
  const std::uint64_t id =
      add(payloads, 0, {entry(NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "Message size [bytes]", 0)});
  CHECK(id > NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);  // a number of ours
  CHECK_FALSE(read(payloads, id, 1.0));              // no size that we know
}
