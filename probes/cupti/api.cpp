#include "cupti/api.hpp"

#include <array>
#include <type_traits>

#include "cuda/driver.hpp"

namespace nsa::probes::cupti {
namespace {

constexpr std::array kFiles{"libcupti.so.13"};
constexpr std::uint32_t kOldest = 130000;  // the first with the records of our header

/// Nothing without a driver: CUPTI then opens, takes 7 ms for it, and says "unknown error".
DynamicLibrary open_behind_driver() {
  if (!DynamicLibrary(kDriverFiles)) return DynamicLibrary({});
  return DynamicLibrary(kFiles);
}

}  // namespace

template <class Function>
void Api::load(Function& function, const char* name) {
  function = library_.function<std::remove_pointer_t<Function>>(name);
  if (!function && missing_.empty()) missing_ = std::string("libcupti.so.13 has no ") + name;
}

Api::Api() : library_(open_behind_driver()) {
  if (!library_)
    missing_ = "CUPTI: " +
               (library_.reason().empty() ? "no NVIDIA driver is installed" : library_.reason());
  load(subscribe, "cuptiSubscribe_v2");
  load(unsubscribe, "cuptiUnsubscribe");
  load(enable_callback, "cuptiEnableCallback");
  load(set_thread_id_type, "cuptiSetThreadIdType");
  load(set_attribute, "cuptiActivitySetAttribute");
  load(register_timestamp, "cuptiActivityRegisterTimestampCallback");
  load(register_callbacks, "cuptiActivityRegisterCallbacks");
  load(enable, "cuptiActivityEnable");
  load(enable_and_dump, "cuptiActivityEnableAndDump");
  load(disable, "cuptiActivityDisable");
  load(enable_runtime_call, "cuptiActivityEnableRuntimeApi");
  load(enable_driver_call, "cuptiActivityEnableDriverApi");
  load(flush_all, "cuptiActivityFlushAll");
  load(next_record, "cuptiActivityGetNextRecord");
  load(dropped_records, "cuptiActivityGetNumDroppedRecords");
  load(callback_name, "cuptiGetCallbackName");
  load(result_text, "cuptiGetResultString");
  load(timestamp, "cuptiGetTimestamp");
  load(graph_node_id, "cuptiGetGraphNodeId");
  load(nvtx_initialize, "cuptiNvtxInitialize2");
  auto* version_of = library_.function<CUptiResult(std::uint32_t*)>("cuptiGetVersion");
  if (version_of && version_of(&version_) == CUPTI_SUCCESS && version_ < kOldest &&
      missing_.empty())
    missing_ = "CUPTI " + std::to_string(version_) +
               " is too old: its records are others than in " + std::to_string(kOldest);
}

const Api& shared_api() {
  static const Api* const kApi = new Api;
  return *kApi;
}

std::string error_text(const Api& api, CUptiResult result) {
  const char* text = nullptr;
  if (api.result_text) api.result_text(result, &text);
  return std::string(text ? text : "CUPTI error") + " (" + std::to_string(result) + ")";
}

}  // namespace nsa::probes::cupti
