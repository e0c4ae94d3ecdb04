// Loads the injected library as the driver would, and ends: load_library LIBRARY
// [return|_exit|fork|nvtx|nested|nccl]
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace {

void open_and_close_ranges() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("a domain");
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringA(domain, "a registered name");
  for (int step = 0; step < 5; ++step) {
    nvtxRangePushA(("step " + std::to_string(step)).c_str());
    nvtxDomainRangePushEx(domain, &event);
    nvtxRangeEnd(nvtxRangeStartA("from here to there"));
    nvtxMarkA("a mark");
    nvtxDomainRangePop(domain);
    nvtxRangePop();
  }
}

/// Steps with ranges in them whose names say step as well.
void open_ranges_of_batches() {
  for (int step = 0; step < 5; ++step) {
    nvtxRangePushA("train_step");
    for (int batch = 0; batch < 3; ++batch) {
      nvtxRangePushA("batch");
      nvtxRangePop();
    }
    nvtxRangePop();
  }
}

/// As NCCL does: a communicator whose range tells of it at its end, then a message in it.
void talk_as_nccl() {
  struct Made {
    std::uint64_t communicator;
    int ranks;
  };
  struct Message {
    std::uint64_t communicator;
    std::size_t bytes;
  };
  nvtxDomainHandle_t domain = nvtxDomainCreateA("NCCL");
  const auto layout = [&](std::uint64_t id, const nvtxPayloadSchemaEntry_t* entries) {
    nvtxPayloadSchemaAttr_t schema{};
    schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                       NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
    schema.entries = entries;
    schema.numEntries = 2;
    schema.schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + id;
    return nvtxPayloadSchemaRegister(domain, &schema);
  };
  constexpr const char* kCommunicator = "NCCL communicator ID";
  const nvtxPayloadSchemaEntry_t of_made[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, kCommunicator, nullptr, 0, 0, nullptr, nullptr},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "No. of ranks", nullptr, 0, 8, nullptr, nullptr}};
  const nvtxPayloadSchemaEntry_t of_message[] = {
      {0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, kCommunicator, nullptr, 0, 0, nullptr, nullptr},
      {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "Message size [bytes]", nullptr, 0, 8, nullptr, nullptr}};
  const Made made{0xc0ffee, 2};
  const nvtxPayloadData_t end{layout(0, of_made), sizeof made, &made};
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringA(domain, "ncclCommInitRank");
  nvtxDomainRangePushEx(domain, &event);
  nvtxRangePopPayload(domain, &end, 1);
  nvtxRangePushPayload(domain, &end, 1);
  nvtxRangePopPayload(domain, nullptr, 0);
  const Message message{made.communicator, 4096};
  const nvtxPayloadData_t begin{layout(5, of_message), sizeof message, &message};
  event.message.registered = nvtxDomainRegisterStringA(domain, "ncclAllReduce");
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = 1;
  event.payload.ullValue = reinterpret_cast<std::uintptr_t>(&begin);
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
}

}  // namespace

int main(int argc, char** argv) {
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!library) {
    std::fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "which library?");
    return 2;
  }
  auto* initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  if (!initialize || initialize() != 1 || initialize() != 1) return 3;
  const std::string end = argc > 2 ? argv[2] : "return";
  if (end == "_exit") {
    usleep(250'000);  // two periods of its thread
    _exit(7);
  }
  if (end == "nvtx") open_and_close_ranges();
  if (end == "nested") open_ranges_of_batches();
  if (end == "nccl") talk_as_nccl();
  if (end == "fork") {  // a child that ends by its exit handlers writes nothing of its own
    const pid_t child = fork();
    if (child == 0) return 0;
    int status = 0;
    waitpid(child, &status, 0);
  }
  return 5;
}
