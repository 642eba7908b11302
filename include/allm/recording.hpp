// Exchanges with a model, recorded once and replayed in tests: without network, without a key, always the same.
//
//   auto model = allm::record(allm::openai(), "tests/weather.jsonl");  // once
//   auto model = allm::replay("tests/weather.jsonl");                  // from then on
//   if (!model) return report(model.error());
//   allm::Engine engine({.adapter = *model, .tools = {weather}});
//
// A recording holds requests and what the model answered, event by event, with everything that looks like a key taken
// out. docs/recording-format.md describes the file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "allm/error.hpp"

namespace allm {

class Adapter;

struct RecordOptions {
  // Add to the exchanges that the file holds. Otherwise they are replaced.
  bool append = false;
};

// An adapter that passes every call on to `adapter` and writes each exchange to the file when its stream is over: at
// its end, after its error, or when it is dropped. A new file can be read by its owner only (0600).
//
// The adapter shares ownership of `adapter`; any thread may use it. The file is written on the thread that reads the
// stream, and may block it as long as a write takes.
//
// Fails with EngineError `missing_adapter` without an adapter, with `invalid_engine` if the file cannot be written, or,
// with `append`, is no recording. A write that fails later takes nothing from the answer that it belongs to: from then
// on nothing is written, and every open() fails with EngineError `invalid_engine` that names the file and what
// happened. So a run does not go on unrecorded; only the failure of its very last write remains unseen.
Result<std::shared_ptr<Adapter>> record(std::shared_ptr<Adapter> adapter, std::string path, RecordOptions options = {});

struct ReplayOptions {
  // Exchanges may answer more than once. Otherwise each answers one call.
  bool reuse = false;
  // What is not compared: JSON pointers into the `request` of an exchange, each with all that is below it. The message
  // about a request that does not match names the pointer to write here.
  std::vector<std::string> ignore = {};
};

// An adapter that answers from a recording. The file is read here, as a whole; later changes to it make no difference.
// A call takes the first exchange that is unused and has the same request, so that parallel calls may come in any
// order; with `reuse`, the one that was used least. Any thread may use the adapter.
//
// Fails with EngineError `invalid_engine` if the file cannot be read, with ValidationError `invalid_request` and the
// number of the line if it is damaged, and with ValidationError `invalid_option` for what is no JSON pointer.
//
// A call that no exchange matches fails with AdapterError `invalid_request`, which is never retried and says where the
// request differs. An exchange whose stream was dropped while it was recorded gives its events and then AdapterError
// `malformed_response`.
Result<std::shared_ptr<Adapter>> replay(const std::string& path, ReplayOptions options = {});

}  // namespace allm
