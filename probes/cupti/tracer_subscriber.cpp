// Being CUPTI's one subscriber: who is in the way, and the callbacks that are asked for.
#include <array>
#include <string_view>

#include "cupti/tracer.hpp"
#include "nsa/schemas/error.hpp"

namespace nsa::probes::cupti {

std::string Tracer::holder() {
  struct : RecordSink {
    std::uint32_t text(std::string_view) override { return 0; }
    void append(const void*, std::uint32_t) override {}
  } nowhere;
  Tracer tracer(nowhere);
  if (!tracer.api_.missing().empty()) return {};
  try {
    tracer.subscribe();
  } catch (const Held& held) {
    return held.holder();
  } catch (const EnvironmentError&) {  // no driver, say, which others tell better
  }
  return {};
}

void Tracer::subscribe() {
  std::array<char, 128> holder{};
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "nsatune";
  params.oldSubscriberName = holder.data();
  params.oldSubscriberSize = holder.size();
  CUpti_SubscriberHandle subscriber = nullptr;
  const CUptiResult result = api_.subscribe(&subscriber, on_callback, this, &params);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    std::string_view name = holder.data();
    if (constexpr std::string_view kBefore = "CUPTI for "; name.starts_with(kBefore))
      name.remove_prefix(kBefore.size());  // CUPTI puts it before the name that a tool gave
    throw Held(std::string(name.empty() ? "another tool" : name));
  }
  check(result, "cuptiSubscribe_v2");
  subscriber_ = subscriber;
}

/// Without them stages of a replayed graph stay unknown, and all else is as it was.
void Tracer::watch_nodes() {
  for (const auto id :
       {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED})
    api_.enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, id);
}

std::uint64_t Tracer::id_of(CUgraphNode node) const {
  std::uint64_t id = 0;
  return node && api_.graph_node_id(node, &id) == CUPTI_SUCCESS ? id : 0;
}

void Tracer::on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const void* data) {
  const auto& tracer = *static_cast<const Tracer*>(self);
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    const auto* info = static_cast<const CUpti_CallbackData*>(data);
    if (tracer.hooks_.on_call)
      tracer.hooks_.on_call({domain, id, info->callbackSite == CUPTI_API_ENTER, info->correlationId,
                             info->symbolName});
  }
  if (domain != CUPTI_CB_DOMAIN_RESOURCE || !tracer.hooks_.on_node) return;
  const auto* info = static_cast<const CUpti_ResourceData*>(data);
  const auto* graph = static_cast<const CUpti_GraphData*>(info->resourceDescriptor);
  if (!graph) return;
  const bool cloned = id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
  if (!cloned && id != CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) return;
  tracer.hooks_.on_node(
      {tracer.id_of(graph->node), cloned ? tracer.id_of(graph->originalNode) : 0});
}

}  // namespace nsa::probes::cupti
