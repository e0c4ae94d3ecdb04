// The functions of CUPTI that we use, from a library that is opened at run time: the header is
// needed to build, the library only where something is traced.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string>

#include "machine/dynamic_library.hpp"

namespace nsa::probes::cupti {

/// The library by its plain name: a program such as PyTorch brings its own copy, and two copies in
/// one process do not see each other. Records have the layout of CUPTI 13, so no other will do.
class Api {
 public:
  /// Opens it; missing() says why it cannot be used.
  Api();
  const std::string& missing() const noexcept { return missing_; }
  std::uint32_t version() const noexcept { return version_; }

  decltype(&cuptiSubscribe_v2) subscribe;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiEnableCallback) enable_callback;
  decltype(&cuptiSetThreadIdType) set_thread_id_type;
  decltype(&cuptiActivitySetAttribute) set_attribute;
  decltype(&cuptiActivityRegisterTimestampCallback) register_timestamp;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityEnableAndDump) enable_and_dump;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityEnableRuntimeApi) enable_runtime_call;
  decltype(&cuptiActivityEnableDriverApi) enable_driver_call;
  decltype(&cuptiActivityFlushAll) flush_all;
  decltype(&cuptiActivityGetNextRecord) next_record;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records;
  decltype(&cuptiGetCallbackName) callback_name;
  decltype(&cuptiGetResultString) result_text;
  decltype(&cuptiGetTimestamp) timestamp;
  decltype(&cuptiGetGraphNodeId) graph_node_id;
  int (*nvtx_initialize)(void* export_table);  // cuptiNvtxInitialize2, which no header declares

 private:
  template <class Function>
  void load(Function& function, const char* name);

  DynamicLibrary library_;
  std::string missing_;
  std::uint32_t version_ = 0;
};

/// Opened at the first call and never closed: threads of the library may live on. Where it is
/// missing, every later call costs nothing.
const Api& shared_api();

/// "CUPTI_ERROR_... (39)" of a result, for messages.
std::string error_text(const Api& api, CUptiResult result);

}  // namespace nsa::probes::cupti
