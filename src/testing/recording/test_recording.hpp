// Helpers for tests of recordings: temporary folders, reading and writing files, reading streams to their end.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <utility>
#include <vector>

#include "allm/adapter.hpp"
#include "allm/stream.hpp"

namespace allm::testing {

// A temporary folder. The destructor removes it with its files.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "allm-recording-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline AdapterCall call_of(std::string text) {
  AdapterCall call{.runtime = Runtime::process()};
  call.request.messages.push_back(user(std::move(text)));
  return call;
}

inline std::vector<Event> read_all(std::unique_ptr<EventSource> source) {
  EventStream stream(std::move(source));
  std::vector<Event> events;
  while (Poll event = stream.next()) events.push_back(*std::move(event));
  return events;
}

// The events of a call; only an ErrorEvent if the call could not be opened.
inline std::vector<Event> played(Adapter& adapter, const AdapterCall& call) {
  auto source = adapter.open(call);
  if (!source) return {ErrorEvent{source.error()}};
  return read_all(*std::move(source));
}

}  // namespace allm::testing
