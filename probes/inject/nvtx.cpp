// Ranges as the program opens them, for steps and for notes on a hang; the records are CUPTI's.
#include "inject/nvtx.hpp"

#include <pthread.h>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "inject/injector.hpp"
#include "inject/payload.hpp"
#include "inject/ranges.hpp"

namespace nsa::inject {
namespace {

// NVTX's interface for tools (nvtx3/nvtxDetail/nvtxTypes.h): numbers of tables and functions.
constexpr unsigned kCallbacksTable = 1;
constexpr int kCoreModule = 1, kCore2Module = 5;
constexpr unsigned kRangeStartEx = 4, kRangeStartA = 5, kRangeStartW = 6, kRangePushEx = 8,
                   kRangePushA = 9, kRangePushW = 10, kRangePop = 11;
constexpr unsigned kDomainRangeStartEx = 2, kDomainRangePushEx = 4, kDomainRangePop = 5,
                   kDomainRegisterString = 10;

using Function = void (*)();
struct CallbackTables {
  std::size_t bytes;
  int (*functions_of)(int module, Function*** table, unsigned* size);
};

/// What is behind ours: CUPTI's function, or null where it has none.
struct Next {
  decltype(&nvtxRangeStartEx) range_start_ex = nullptr;
  decltype(&nvtxRangeStartA) range_start = nullptr;
  decltype(&nvtxRangeStartW) range_start_wide = nullptr;
  decltype(&nvtxRangePushEx) range_push_ex = nullptr;
  decltype(&nvtxRangePushA) range_push = nullptr;
  decltype(&nvtxRangePushW) range_push_wide = nullptr;
  decltype(&nvtxRangePop) range_pop = nullptr;
  decltype(&nvtxDomainRangeStartEx) domain_start = nullptr;
  decltype(&nvtxDomainRangePushEx) domain_push = nullptr;
  decltype(&nvtxDomainRangePop) domain_pop = nullptr;
  decltype(&nvtxDomainRegisterStringA) register_string = nullptr;
} next;

std::mutex strings_mutex;
/// Registered strings by their handle. Never destroyed: the program may use NVTX at its very end.
std::unordered_map<const void*, std::string>& strings() {
  static auto* strings = new std::unordered_map<const void*, std::string>;
  return *strings;
}
/// A child that was forked does not wait for a thread that it has not got.
void hold_strings_at_fork() {
  const auto hold = [] { strings_mutex.lock(); };
  const auto release = [] { strings_mutex.unlock(); };
  pthread_atfork(hold, release, release);
}

/// What is no ASCII becomes a question mark.
std::string narrow(const wchar_t* text) {
  std::string out;
  for (; text && *text != L'\0'; ++text)
    out += *text > 0 && *text < 128 ? static_cast<char>(*text) : '?';
  return out;
}

std::string name_of(const nvtxEventAttributes_t* event) {
  if (!event) return {};
  if (event->messageType == NVTX_MESSAGE_TYPE_ASCII && event->message.ascii)
    return event->message.ascii;
  if (event->messageType == NVTX_MESSAGE_TYPE_UNICODE) return narrow(event->message.unicode);
  if (event->messageType != NVTX_MESSAGE_TYPE_REGISTERED) return {};
  const std::lock_guard lock(strings_mutex);
  const auto found = strings().find(event->message.registered);
  return found == strings().end() ? std::string() : found->second;
}

void begins(std::string_view name) {
  if (Injector* injector = Injector::get()) injector->range_begins(name);
}

void opens(const void* domain, std::string_view name) {
  begins(name);
  push_range(domain, name);
  if (Injector* injector = Injector::get()) injector->range_opens(domain, name);
}

void closes(const void* domain) {
  const std::string name = pop_range(domain);
  if (Injector* injector = Injector::get()) injector->range_closes(domain, name);
}

/// Once the range has begun for CUPTI too, so that the moment is in it.
void sends(const void* domain, std::string_view name, const nvtxEventAttributes_t& event) {
  const auto* payloads = reinterpret_cast<const nvtxPayloadData_t*>(event.payload.ullValue);
  const auto count = static_cast<std::size_t>(std::max(event.reserved0, 0));
  const auto sent = Payloads::get().read(domain, payloads, count);
  Injector* const injector = Injector::get();
  if (sent && injector) injector->sends(name, *sent);
}

nvtxRangeId_t range_start_ex(const nvtxEventAttributes_t* event) {
  begins(name_of(event));
  return next.range_start_ex ? next.range_start_ex(event) : 0;
}
nvtxRangeId_t range_start(const char* name) {
  begins(name ? name : "");
  return next.range_start ? next.range_start(name) : 0;
}
nvtxRangeId_t range_start_wide(const wchar_t* name) {
  begins(narrow(name));
  return next.range_start_wide ? next.range_start_wide(name) : 0;
}
int range_push_ex(const nvtxEventAttributes_t* event) {
  opens(nullptr, name_of(event));
  return next.range_push_ex ? next.range_push_ex(event) : NVTX_NO_PUSH_POP_TRACKING;
}
int range_push(const char* name) {
  opens(nullptr, name ? name : "");
  return next.range_push ? next.range_push(name) : NVTX_NO_PUSH_POP_TRACKING;
}
int range_push_wide(const wchar_t* name) {
  opens(nullptr, narrow(name));
  return next.range_push_wide ? next.range_push_wide(name) : NVTX_NO_PUSH_POP_TRACKING;
}
int range_pop() {
  const int depth = next.range_pop ? next.range_pop() : NVTX_NO_PUSH_POP_TRACKING;
  closes(nullptr);
  return depth;
}
nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  begins(name_of(event));
  return next.domain_start ? next.domain_start(domain, event) : 0;
}
int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const std::string name = name_of(event);
  opens(domain, name);
  const int depth = next.domain_push ? next.domain_push(domain, event) : NVTX_NO_PUSH_POP_TRACKING;
  if (event && event->payloadType == NVTX_PAYLOAD_TYPE_EXT) sends(domain, name, *event);
  return depth;
}
int domain_pop(nvtxDomainHandle_t domain) {
  const int depth = next.domain_pop ? next.domain_pop(domain) : NVTX_NO_PUSH_POP_TRACKING;
  closes(domain);
  return depth;
}
/// Where nobody is behind us the handle is ours: a place that no other string has.
nvtxStringHandle_t register_string(nvtxDomainHandle_t domain, const char* text) {
  const nvtxStringHandle_t handle =
      next.register_string
          ? next.register_string(domain, text)
          : reinterpret_cast<nvtxStringHandle_t>(new std::string(text ? text : ""));
  if (handle && text) {
    const std::lock_guard lock(strings_mutex);
    strings()[handle] = text;
  }
  return handle;
}

std::uint64_t register_schema(nvtxDomainHandle_t domain, const nvtxPayloadSchemaAttr_t* schema) {
  return schema ? Payloads::get().add(domain, *schema) : 0;
}
/// A range whose name may be in a payload that we do not know. It is there for its pop's sake.
int push_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, std::size_t count) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "range with a payload";
  event.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  event.reserved0 = static_cast<std::int32_t>(count);
  event.payload.ullValue = reinterpret_cast<std::uintptr_t>(payloads);
  return domain_push(domain, &event);
}
/// The end of a range that tells more of it: NCCL's for a communicator that is made.
int pop_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* payloads, std::size_t count) {
  Payloads::get().read(domain, payloads, count);
  return domain_pop(domain);
}

/// A table of functions, and what stood in it before CUPTI: stubs that initialise NVTX and call
/// what stands in the table then. Calling one of them from there would never end.
struct Table {
  Function** places = nullptr;
  unsigned size = 0;
  std::vector<Function> stubs;

  bool read(const CallbackTables& tables, int module) {
    if (!tables.functions_of(module, &places, &size)) return false;
    for (unsigned i = 0; i < size; ++i) stubs.push_back(places[i] ? *places[i] : nullptr);
    return true;
  }
  /// Puts `ours` into a place and keeps what CUPTI put there, if it did.
  template <class F>
  void chain(unsigned place, F& behind, F ours) {
    if (place >= size || !places[place]) return;
    if (*places[place] != stubs[place]) behind = reinterpret_cast<F>(*places[place]);
    *places[place] = reinterpret_cast<Function>(ours);
  }
};

}  // namespace

bool attach_nvtx(ExportTable export_table, const std::function<void()>& attach_cupti) {
  const auto* tables = static_cast<const CallbackTables*>(export_table(kCallbacksTable));
  Table core, core2;
  const bool known = tables && tables->bytes >= sizeof(CallbackTables) &&
                     core.read(*tables, kCoreModule) && core2.read(*tables, kCore2Module);
  attach_cupti();
  if (!known) return false;
  hold_strings_at_fork();
  core.chain(kRangeStartEx, next.range_start_ex, &range_start_ex);
  core.chain(kRangeStartA, next.range_start, &range_start);
  core.chain(kRangeStartW, next.range_start_wide, &range_start_wide);
  core.chain(kRangePushEx, next.range_push_ex, &range_push_ex);
  core.chain(kRangePushA, next.range_push, &range_push);
  core.chain(kRangePushW, next.range_push_wide, &range_push_wide);
  core.chain(kRangePop, next.range_pop, &range_pop);
  core2.chain(kDomainRangeStartEx, next.domain_start, &domain_start);
  core2.chain(kDomainRangePushEx, next.domain_push, &domain_push);
  core2.chain(kDomainRangePop, next.domain_pop, &domain_pop);
  core2.chain(kDomainRegisterString, next.register_string, &register_string);
  return true;
}

bool attach_payloads(void* module_info) {
  const auto* module = static_cast<const nvtxExtModuleInfo_t*>(module_info);
  if (!module || module->structSize < sizeof(nvtxExtModuleInfo_t) ||
      module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || module->segmentsCount == 0 ||
      !module->segments || !module->segments->functionSlots)
    return false;
  const auto put = [&](std::size_t slot, auto function) {
    if (slot < module->segments->slotCount)  // of 2022 there are two
      module->segments->functionSlots[slot] = reinterpret_cast<std::intptr_t>(function);
  };
  put(NVTX3EXT_CBID_nvtxPayloadSchemaRegister, &register_schema);
  put(NVTX3EXT_CBID_nvtxRangePushPayload, &push_payload);
  put(NVTX3EXT_CBID_nvtxRangePopPayload, &pop_payload);
  return true;
}

}  // namespace nsa::inject
