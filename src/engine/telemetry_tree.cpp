// CollectingTelemetry::tree.
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "allm/telemetry.hpp"

namespace allm {
namespace {

using Record = CollectingTelemetry::Record;

// A line of the tree: a span, or an event of its parent that is neither start nor end.
struct TreeNode {
  const Record* begin = nullptr;
  const Record* end = nullptr;  // null while the span is open, and for other events
  std::vector<std::size_t> children = {};
};

// For a span, the middle of a name such as "allm.tool.start"; for other events, everything after "allm.".
std::string_view short_name(const Record& record) {
  std::string_view name = record.name;
  name.remove_prefix(std::string_view("allm.").size());
  return record.phase == SpanPhase::start ? name.substr(0, name.find('.')) : name;
}

class SpanTree {
 public:
  explicit SpanTree(const std::vector<Record>& records) {
    for (const Record& record : records) {
      if (record.phase == SpanPhase::stop || record.phase == SpanPhase::exception) {
        if (const auto open = spans_.find(record.span_id); open != spans_.end()) nodes_[open->second].end = &record;
      } else {
        add(record);
      }
    }
  }

  std::string text(bool with_durations) const {
    std::string text;
    for (const std::size_t root : roots_) write(text, root, 0, with_durations);
    return text;
  }

 private:
  void add(const Record& record) {
    const bool is_span = record.phase == SpanPhase::start;
    const auto parent = spans_.find(is_span ? record.parent_span_id : record.span_id);
    auto& siblings = parent == spans_.end() ? roots_ : nodes_[parent->second].children;
    siblings.push_back(nodes_.size());
    if (is_span) spans_[record.span_id] = nodes_.size();
    nodes_.push_back({.begin = &record});
  }

  void write(std::string& text, std::size_t index, std::size_t depth, bool with_durations) const {
    const TreeNode& node = nodes_[index];
    const Record& begin = *node.begin;
    const bool is_span = begin.phase == SpanPhase::start;
    text.append(2 * depth, ' ');
    if (!is_span) text += "- ";
    text += short_name(begin);
    if (is_span && begin.span == SpanKind::generate && begin.model) text += " " + *begin.model;
    if (is_span && begin.tool) text += " " + *begin.tool;
    if (is_span) write_end(text, node, with_durations);
    text += '\n';
    for (const std::size_t child : node.children) write(text, child, depth + 1, with_durations);
  }

  static void write_end(std::string& text, const TreeNode& node, bool with_durations) {
    if (node.end == nullptr) {
      text += ": open";
      return;
    }
    if (node.end->phase == SpanPhase::exception) {
      const Json& detail = node.end->detail;
      text += ": " + node.end->error_reason.value_or(detail.is_object() ? detail.value("kind", "error") : "error");
    }
    if (with_durations) {
      const std::chrono::duration<double, std::milli> milliseconds = node.end->duration;
      fmt::format_to(std::back_inserter(text), " ({:.1f} ms)", milliseconds.count());
    }
  }

  std::vector<TreeNode> nodes_;
  std::vector<std::size_t> roots_;
  std::map<SpanId, std::size_t> spans_;  // index of each span's node
};

}  // namespace

std::string CollectingTelemetry::tree(TreeOptions options) const {
  const std::vector<Record> kept = records();
  return SpanTree(kept).text(options.durations);
}

}  // namespace allm
