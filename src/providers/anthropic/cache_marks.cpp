#include "providers/anthropic/cache_marks.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "providers/provider_json.hpp"

namespace allm {
namespace {

constexpr std::size_t kMaxMarks = 4;
constexpr const char* kMark = "cache_control";

void make_blocks(Json& content) {
  if (!content.is_string()) return;
  std::string text = std::move(content.get_ref<std::string&>());
  content = Json::array({{{"type", "text"}, {"text", std::move(text)}}});
}

// Counts the blocks of a list that are marked, and the blocks inside of tool results.
std::size_t count_marks(const Json* blocks) {
  if (blocks == nullptr || !blocks->is_array()) return 0;
  std::size_t count = 0;
  for (const Json& block : *blocks) {
    if (find_member(block, kMark) != nullptr) ++count;
    count += count_marks(find_member(block, "content"));
  }
  return count;
}

std::size_t count_marks_of(const Json& body) {
  return (find_member(body, kMark) != nullptr ? 1U : 0U) + count_marks(find_member(body, "tools")) +
         count_marks(find_member(body, "system")) + count_marks(find_member(body, "messages"));
}

// The provider refuses marks on thinking.
bool takes_mark(const Json& block) {
  const std::string_view type = text_member(block, "type");
  return block.is_object() && type != "thinking" && type != "redacted_thinking";
}

// The last block of the list that can be marked; null if there is none.
Json* last_block(Json& blocks) {
  if (!blocks.is_array()) return nullptr;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (takes_mark(*block)) return &*block;
  }
  return nullptr;
}

Json* last_block_of_messages(Json& messages) {
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    if (Json* block = last_block((*message)["content"])) return block;
  }
  return nullptr;
}

}  // namespace

void add_cache_marks(const PromptCache& cache, Json& body) {
  Json mark = {{"type", "ephemeral"}};
  if (cache.retention == PromptCache::Retention::long_term) mark["ttl"] = "1h";
  for (Json& message : body["messages"]) make_blocks(message["content"]);
  if (body.contains("system")) make_blocks(body["system"]);

  std::size_t marks = count_marks_of(body);
  const auto add_mark = [&](Json* block) {
    if (block == nullptr || block->contains(kMark) || marks >= kMaxMarks) return;
    (*block)[kMark] = mark;
    ++marks;
  };
  add_mark(last_block_of_messages(body["messages"]));
  if (body.contains("system")) add_mark(last_block(body["system"]));
  if (body.contains("tools")) add_mark(last_block(body["tools"]));
}

}  // namespace allm
