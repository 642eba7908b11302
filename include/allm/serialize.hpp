// The JSON form of every data type; docs/session-format.md describes it. Safe to call from any thread.
//
// to_json writes the tagged form {"__type__": "ALLM.Session", "data": {…}} with every field present, so that sessions
// can be exchanged with other implementations of the format. from_json accepts the tagged form and the plain object in
// `data`, because the caller names the type. Members and parts that this version does not know are kept and written
// again. from_json(to_json(x)) equals x.
//
// to_json fails with ValidationError `invalid_request` and the path of a value that JSON cannot represent (text that is
// not valid UTF-8, NaN). It also fails if the value exceeds `limits` (field error `too_deep` or `too_large`), so that
// from_json can read everything that to_json writes with the same limits. from_json fails with ValidationError
// `invalid_request`. The field error has the path and one of these reasons: malformed, missing_type_tag,
// unknown_type_tag, missing, malformed_struct, atom_decode_failed (an unknown name of an enumerator), invalid_type,
// invalid_base64, unsupported_version, too_deep, too_large, duplicate_key.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "allm/json.hpp"
#include "allm/model.hpp"
#include "allm/request.hpp"
#include "allm/response.hpp"
#include "allm/result.hpp"
#include "allm/session.hpp"

namespace allm {

// The version written into sessions. Reading accepts any minor version of this major one.
inline constexpr std::string_view kSessionFormatVersion = "1.0";

Result<std::string> to_json(const Message& value, const ReadLimits& limits = {});
Result<std::string> to_json(const TextPart& value, const ReadLimits& limits = {});
Result<std::string> to_json(const ImagePart& value, const ReadLimits& limits = {});
Result<std::string> to_json(const Image& value, const ReadLimits& limits = {});
Result<std::string> to_json(const FilePart& value, const ReadLimits& limits = {});
Result<std::string> to_json(const File& value, const ReadLimits& limits = {});
Result<std::string> to_json(const AudioPart& value, const ReadLimits& limits = {});
Result<std::string> to_json(const Audio& value, const ReadLimits& limits = {});
Result<std::string> to_json(const ToolCall& value, const ReadLimits& limits = {});
Result<std::string> to_json(const Tool& value, const ReadLimits& limits = {});
Result<std::string> to_json(const Request& value, const ReadLimits& limits = {});
Result<std::string> to_json(const Response& value, const ReadLimits& limits = {});
Result<std::string> to_json(const Usage& value, const ReadLimits& limits = {});
Result<std::string> to_json(const Thread& value, const ReadLimits& limits = {});
Result<std::string> to_json(const Session& value, const ReadLimits& limits = {});
Result<std::string> to_json(const StepResult& value, const ReadLimits& limits = {});
Result<std::string> to_json(const ChatResult& value, const ReadLimits& limits = {});
Result<std::string> to_json(const ModelRef& value, const ReadLimits& limits = {});
Result<std::string> to_json(const Error& value, const ReadLimits& limits = {});

// from_json<Session>(text). Defined for the types above.
template <class T>
Result<T> from_json(std::string_view text, const ReadLimits& limits = {});

// to_json and from_json with Json values instead of text, for values inside other documents or in `metadata`. Defined
// for the types above.
template <class T>
Json to_json_value(const T& value);
template <class T>
Result<T> from_json_value(const Json& value);

// Reads a value in the tagged form, whatever its type. A value with an unknown tag is returned as Json.
using AnyValue = std::variant<Json, Message, TextPart, ImagePart, Image, FilePart, File, AudioPart, Audio, ToolCall,
                              Tool, Request, Response, Usage, Thread, Session, StepResult, ChatResult, ModelRef, Error>;
Result<AnyValue> any_from_json(std::string_view text, const ReadLimits& limits = {});

}  // namespace allm
