#include "names.hpp"

#include <array>

#include "read/kernel_names.hpp"

namespace nsa::trace {
namespace {

constexpr std::uint32_t kMaxTextId = 1u << 26;

template <std::size_t N>
std::string word(const std::array<std::string_view, N>& words, std::uint32_t number) {
  return number < N ? std::string(words[number]) : "kind " + std::to_string(number);
}

/// CUpti_ActivityMemcpyKind.
constexpr std::array<std::string_view, 11> kCopies{"?",    "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                                   "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
/// CUpti_ActivityMemoryKind.
constexpr std::array<std::string_view, 8> kMemories{"Unknown",       "Pageable",      "Pinned",
                                                    "Device",        "Array",         "Managed",
                                                    "Device Static", "Managed Static"};
/// CUpti_ActivitySynchronizationType.
constexpr std::array<std::string_view, 5> kSyncs{"Unknown Sync", "Event Sync", "Stream Wait Event",
                                                 "Stream Sync", "Context Sync"};
constexpr std::array<std::string_view, 8> kNotes{
    "unknown", "information", "self_profiled", "degraded", "nothing", "hang", "forked", "error"};

}  // namespace

SpoolTexts::SpoolTexts(std::string_view bytes, const std::string& where) {
  spool::SpoolCursor cursor(bytes, where);
  while (cursor.next()) {
    if (cursor.kind() != spool::Kind::text) continue;
    const auto text = cursor.get<spool::SpoolText>();
    if (text.id == 0 || text.id > kMaxTextId || text.id > bytes.size())
      cursor.fail("a text with the number " + std::to_string(text.id));
    if (text.id >= texts_.size()) texts_.resize(text.id + std::size_t{1});
    if (texts_[text.id].data() != nullptr)
      cursor.fail("a second text with the number " + std::to_string(text.id));
    texts_[text.id] = cursor.text(text);
  }
  torn_ = cursor.torn_bytes() != 0;
  for (auto& names : names_) names.resize(texts_.size(), kNoName);
}

std::string_view SpoolTexts::text(std::uint32_t id, const spool::SpoolCursor& at) const {
  if (id == 0) return {};
  if (id < texts_.size() && texts_[id].data() != nullptr) return texts_[id];
  if (!torn_) at.fail("the text number " + std::to_string(id) + " is nowhere");
  return "(name lost)";
}

NameId SpoolTexts::name(std::uint32_t id, Form form, const spool::SpoolCursor& at,
                        NamePool& names) {
  const std::string_view raw = text(id, at);
  if (id >= texts_.size()) return names.intern(raw);
  NameId& known = names_[static_cast<std::size_t>(form)][id];
  if (known != kNoName) return known;
  switch (form) {
    case Form::as_is:
      return known = names.intern(raw);
    case Form::kernel:
      return known = names.intern(demangled(raw));
    case Form::api:
      return known = names.intern(without_version(raw));
  }
  return kNoName;
}

std::string copy_name(const spool::SpoolCopy& copy) {
  return "Memcpy " + word(kCopies, copy.copy_kind) + " (" + word(kMemories, copy.source_kind) +
         " -> " + word(kMemories, copy.target_kind) + ")";
}
std::string set_name(const spool::SpoolSet& set) {
  return "Memset (" + word(kMemories, set.memory_kind) + ")";
}
std::string sync_name(std::uint32_t type) { return word(kSyncs, type); }
std::string note_name(spool::NoteWhat what) {
  return word(kNotes, static_cast<std::uint32_t>(what));
}

}  // namespace nsa::trace
