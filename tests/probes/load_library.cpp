// Loads the injected library as the driver would, and ends: load_library LIBRARY
// [return|_exit|fork|nvtx]
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
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
  if (end == "fork") {  // a child that ends by its exit handlers writes nothing of its own
    const pid_t child = fork();
    if (child == 0) return 0;
    int status = 0;
    waitpid(child, &status, 0);
  }
  return 5;
}
