// The JSON form of every data type; docs/session-format.md describes it. Safe to call from any thread.
//
// Writing gives the tagged form {"__type__": "ALLM.Session", "data": {…}} with every field present,
// so that sessions can be exchanged with other implementations of the design. Reading accepts that
// form and plain objects, because the caller names the type. Members and parts that this version
// does not know are kept and written again. parse(write(x)) == x.
//
// Writing fails with ValidationError `invalid_request` naming the path of a value that JSON cannot represent (text that
// is not valid UTF-8, NaN), and with `too_deep` or `too_large` for a value that exceeds the limits: what to_json
// writes, from_json reads with the same limits. Reading fails with ValidationError `invalid_request` whose field error
// has the path and: malformed, missing_type_tag, unknown_type_tag, missing, malformed_struct, atom_decode_failed (an
// unknown name of an enumerator), invalid_type, invalid_base64, unsupported_version, too_deep, too_large,
// duplicate_key.
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

// The same through Json values, for embedding in other documents (and `metadata`).
template <class T>
Json to_json_value(const T& value);
template <class T>
Result<T> from_json_value(const Json& value);

// Any tagged value; one with an unknown tag is returned as Json.
using AnyValue = std::variant<Json, Message, TextPart, ImagePart, Image, FilePart, File, AudioPart, Audio, ToolCall,
                              Tool, Request, Response, Usage, Thread, Session, StepResult, ChatResult, ModelRef, Error>;
Result<AnyValue> any_from_json(std::string_view text, const ReadLimits& limits = {});

}  // namespace allm
