// Answers as structs: defines Response::as<T>() and ChatResult::as<T>(), where T is a described struct
// (allm/describe.hpp). Safe to call from any thread.
//
//   auto result = chat(engine, {user("Who wrote Faust?")},
//                      {.response_format = ResponseFormat::json_schema("book", schema_of<Book>())});
//   Result<Book> book = result->as<Book>();
#pragma once

#include <string>

#include "allm/describe.hpp"
#include "allm/json.hpp"
#include "allm/result.hpp"

namespace allm {

namespace detail {

template <class T>
Result<T> read_answer(const Result<std::string>& text) {
  static_assert(Described<T>, "as<T>() needs a struct with `describe`: see allm/describe.hpp");
  if (!text) return std::unexpected(text.error());
  const Result<Json> json = parse_json(*text);
  if (!json) return std::unexpected(json.error());
  return arguments_from_json<T>(*json);
}

}  // namespace detail

template <class T>
Result<T> Response::as() const {
  return detail::read_answer<T>(unwrap(*this));
}

template <class T>
Result<T> ChatResult::as() const {
  return detail::read_answer<T>(unwrap(*this));
}

}  // namespace allm
