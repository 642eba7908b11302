// parse(write(x)) == x for random values of every data type, through text and through Json values.
#include <gtest/gtest.h>

#include "allm/serialize.hpp"

#include "tests/generators.hpp"

namespace allm::roundtrip_property_test {
namespace {

template <class T>
void survives(const T& value) {
  const Result<std::string> text = to_json(value);
  RC_ASSERT(text.has_value());
  const Result<T> read = from_json<T>(*text);
  if (!read.has_value()) RC_FAIL(read.error().message() + "\n" + *text);
  RC_ASSERT(*read == value);
  RC_ASSERT(*to_json(*read) == *text);

  const Json json = to_json_value(value);
  const Result<T> from_value = from_json_value<T>(json);
  if (!from_value.has_value()) RC_FAIL(from_value.error().message() + "\n" + *text);
  RC_ASSERT(*from_value == value);

  // Both forms are the same JSON.
  RC_ASSERT(*parse_json(*text) == json);
  RC_ASSERT(*write_json(json) == *text);

  const Result<AnyValue> any = any_from_json(*text);
  RC_ASSERT(any.has_value());
  RC_ASSERT(std::get<T>(*any) == value);
}

RC_GTEST_PROP(RoundTrip, Json, (const gen::Source& source)) {
  const Json json = gen::Random(source).json(6);
  const Result<std::string> text = write_json(json);
  RC_ASSERT(text.has_value());
  RC_ASSERT(*parse_json(*text) == json);
  RC_ASSERT(json_equal(*parse_json(*text), json));
}

RC_GTEST_PROP(RoundTrip, TextPart, (const gen::Source& source)) { survives(gen::Random(source).text_part()); }
RC_GTEST_PROP(RoundTrip, ImagePart, (const gen::Source& source)) { survives(gen::Random(source).image_part()); }
RC_GTEST_PROP(RoundTrip, Image, (const gen::Source& source)) { survives(gen::Random(source).image()); }
RC_GTEST_PROP(RoundTrip, FilePart, (const gen::Source& source)) { survives(gen::Random(source).file_part()); }
RC_GTEST_PROP(RoundTrip, File, (const gen::Source& source)) { survives(gen::Random(source).file()); }
RC_GTEST_PROP(RoundTrip, AudioPart, (const gen::Source& source)) { survives(gen::Random(source).audio_part()); }
RC_GTEST_PROP(RoundTrip, Audio, (const gen::Source& source)) { survives(gen::Random(source).audio()); }
RC_GTEST_PROP(RoundTrip, ToolCall, (const gen::Source& source)) { survives(gen::Random(source).tool_call()); }
RC_GTEST_PROP(RoundTrip, Message, (const gen::Source& source)) { survives(gen::Random(source).message()); }
RC_GTEST_PROP(RoundTrip, Thread, (const gen::Source& source)) { survives(gen::Random(source).thread()); }
RC_GTEST_PROP(RoundTrip, Tool, (const gen::Source& source)) { survives(gen::Random(source).tool()); }
RC_GTEST_PROP(RoundTrip, ModelRef, (const gen::Source& source)) { survives(gen::Random(source).model()); }
RC_GTEST_PROP(RoundTrip, Request, (const gen::Source& source)) { survives(gen::Random(source).request()); }
RC_GTEST_PROP(RoundTrip, Usage, (const gen::Source& source)) { survives(gen::Random(source).usage()); }
RC_GTEST_PROP(RoundTrip, Response, (const gen::Source& source)) { survives(gen::Random(source).response()); }
RC_GTEST_PROP(RoundTrip, StepResult, (const gen::Source& source)) { survives(gen::Random(source).step_result()); }
RC_GTEST_PROP(RoundTrip, ChatResult, (const gen::Source& source)) { survives(gen::Random(source).chat_result()); }
RC_GTEST_PROP(RoundTrip, Session, (const gen::Source& source)) { survives(gen::Random(source).session()); }

RC_GTEST_PROP(RoundTrip, EngineError, (const gen::Source& source)) { survives(gen::Random(source).error_of_kind(0)); }
RC_GTEST_PROP(RoundTrip, AdapterError, (const gen::Source& source)) { survives(gen::Random(source).error_of_kind(1)); }
RC_GTEST_PROP(RoundTrip, StreamError, (const gen::Source& source)) { survives(gen::Random(source).error_of_kind(2)); }
RC_GTEST_PROP(RoundTrip, ValidationError, (const gen::Source& source)) {
  survives(gen::Random(source).error_of_kind(3));
}
RC_GTEST_PROP(RoundTrip, ToolError, (const gen::Source& source)) { survives(gen::Random(source).error_of_kind(4)); }
RC_GTEST_PROP(RoundTrip, SessionError, (const gen::Source& source)) { survives(gen::Random(source).error_of_kind(5)); }

}  // namespace
}  // namespace allm::roundtrip_property_test
