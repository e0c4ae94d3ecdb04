// What CUDA and NVTX call in a library that is injected.
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "cupti/api.hpp"
#include "inject/driver.hpp"
#include "inject/injector.hpp"
#include "inject/nvtx.hpp"
#include "nsa/schemas/trace_request.hpp"

namespace {

using nsa::inject::Injector;
using nsa::inject::Request;

using nsa::inject::ExportTable;
using NvtxInitialize = int (*)(ExportTable);

std::atomic<bool> nvtx_is_in{false}, ranges_are_ours{false};

}  // namespace

/// The driver calls it once a process, inside of cuInit. 1: loaded, and stays.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static std::once_flag once;
  std::call_once(once, [] {
    try {
      const Request request = nsa::inject::read_request(
          [](const char* name) { return static_cast<const char*>(std::getenv(name)); });
      if (!request.folder.empty()) Injector::start(request);
      // Before CUDA: markers cost launches something, and few programs have any.
      if (Injector* injector = Injector::get(); injector && nvtx_is_in) injector->nvtx_comes_in();
    } catch (const std::exception&) {  // the program goes on without being traced
    }
  });
  return 1;
}

/// NVTX calls it at its first use. CUPTI's own function returns 0 for success, which NVTX takes for
/// a failure: forwarding its value loses every range.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    ExportTable export_table) {
  // Without a driver CUPTI's functions for domains crash; there is nothing to trace either.
  if (!std::getenv(nsa::spool::kEnvFolder) || !nsa::inject::has_driver()) return 0;
  const auto& cupti = nsa::probes::cupti::shared_api();
  const bool known = nsa::inject::attach_nvtx(export_table, [&] {
    if (const auto initialize = reinterpret_cast<NvtxInitialize>(cupti.nvtx_initialize))
      initialize(export_table);
  });
  if (known) ranges_are_ours = true;
  nvtx_is_in = true;
  if (Injector* injector = Injector::get()) injector->nvtx_comes_in();
  return 1;
}

/// NVTX calls it at the first use of an extension, after the function before it. 0: not wanted.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    void* module_info) {
  return ranges_are_ours && nsa::inject::attach_payloads(module_info) ? 1 : 0;
}
