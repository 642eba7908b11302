// Exchanges with a model, recorded once and replayed in tests: without network, without a key, always the same.
//
//   auto model = allm::record(allm::openai(), "tests/weather.jsonl");  // once
//   auto model = allm::replay("tests/weather.jsonl");                  // from then on
//   if (!model) return report(model.error());
//   allm::Engine engine({.adapter = *model, .tools = {weather}});
//
// A recording has requests and the events of their answers. Everything that looks like an API key is redacted.
// docs/recording-format.md describes the file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "allm/error.hpp"

namespace allm {

class Adapter;

struct RecordOptions {
  // True: exchanges are added to those in the file. False: they replace those in the file.
  bool append = false;
};

// Makes an adapter that passes every call on to `adapter`. It writes each exchange (a request and the events of its
// answer) to the file when the stream of the answer is over: at its end, after its error, or when it is dropped. A new
// file can be read by its owner only (0600).
//
// The new adapter shares ownership of `adapter` and is safe to use from any thread. The file is written on the thread
// that reads the stream, which blocks for the time of the write.
//
// Fails with EngineError `missing_adapter` if `adapter` is null, and with `invalid_engine` if the file cannot be
// written or, with `append`, is not a recording. If a write fails later, the answer that it belongs to is still
// delivered. From then on nothing is written, and every open() fails with EngineError `invalid_engine` that names the
// file and the cause. So a run does not continue without being recorded. Only if the last write of a run fails, the
// program gets no error.
Result<std::shared_ptr<Adapter>> record(std::shared_ptr<Adapter> adapter, std::string path, RecordOptions options = {});

struct ReplayOptions {
  // True: an exchange may answer several calls. False: each exchange answers one call.
  bool reuse = false;
  // Parts of requests that are not compared: JSON pointers into the `request` of an exchange. Everything below such a
  // place is not compared either. If a request does not match, the error message names the pointer to add here.
  std::vector<std::string> ignore = {};
};

// Makes an adapter that answers from a recording. replay() reads the whole file; later changes of the file have no
// effect. A call gets the first unused exchange with the same request, so that parallel calls may come in any order.
// With `reuse`, it gets the exchange with the same request that was used least often. The adapter is safe to use from
// any thread.
//
// Fails with EngineError `invalid_engine` if the file cannot be read, with ValidationError `invalid_request` and the
// number of the line if it is damaged, and with ValidationError `invalid_option` if an element of `ignore` is not a
// JSON pointer.
//
// A call that no exchange matches fails with AdapterError `invalid_request`, which is never retried and says where the
// request differs. An exchange whose stream was dropped while it was recorded produces its events and then AdapterError
// `malformed_response`.
Result<std::shared_ptr<Adapter>> replay(const std::string& path, ReplayOptions options = {});

}  // namespace allm
