// A CUPTI that another tool holds, beside made_up_driver.cpp.
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace {

constexpr int kGood = 0, kSeveralTools = 39;  // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED

/// CUpti_SubscriberParams.
struct Subscriber {
  std::size_t size;
  const char* name;
  char* old_name;
  std::size_t old_size;
};

}  // namespace

extern "C" {
int cuptiSubscribe_v2(void**, void*, void*, Subscriber* subscriber) {
  std::snprintf(subscriber->old_name, subscriber->old_size, "CUPTI for another tool");
  return kSeveralTools;
}
int cuptiGetVersion(std::uint32_t* version) { return *version = 130000, kGood; }
int cuptiGetTimestamp(std::uint64_t* at) { return *at = 0, kGood; }
int cuptiUnsubscribe() { return kGood; }
int cuptiEnableCallback() { return kGood; }
int cuptiSetThreadIdType() { return kGood; }
int cuptiActivitySetAttribute() { return kGood; }
int cuptiActivityRegisterTimestampCallback() { return kGood; }
int cuptiActivityRegisterCallbacks() { return kGood; }
int cuptiActivityEnable() { return kGood; }
int cuptiActivityEnableAndDump() { return kGood; }
int cuptiActivityDisable() { return kGood; }
int cuptiActivityEnableRuntimeApi() { return kGood; }
int cuptiActivityEnableDriverApi() { return kGood; }
int cuptiActivityFlushAll() { return kGood; }
int cuptiActivityGetNextRecord() { return kGood; }
int cuptiActivityGetNumDroppedRecords() { return kGood; }
int cuptiGetCallbackName() { return kGood; }
int cuptiGetResultString() { return kGood; }
int cuptiGetGraphNodeId() { return kGood; }
int cuptiNvtxInitialize2() { return kGood; }
}
