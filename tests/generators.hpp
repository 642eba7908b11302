// Random values of every data type, for property tests.
//
// RapidCheck draws a `Source` (a seed and a size, which shrinks). `Random` makes values from it with
// a generator of its own, because RapidCheck's shrink trees cost more time than the tested code.
//
//   RC_GTEST_PROP(Messages, SurviveJson, (const allm::gen::Source& source)) {
//     const Message message = allm::gen::Random(source).message();
//     …
//   }
//
// All values are values that the library itself can make: typed fields that are stored in `metadata`
// are not written there a second time, and unknown fields have names that no known field has.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "allm/request.hpp"
#include "allm/response.hpp"
#include "allm/result.hpp"
#include "allm/session.hpp"

#include "tests/cases.hpp"

namespace allm::gen {

inline const int kCasesSet = testing::set_property_cases(1'000);

struct Source {
  std::uint64_t seed = 0;
  int size = 0;  // about the largest number of elements in a list
};
inline std::ostream& operator<<(std::ostream& out, const Source& source) {
  return out << "Source{" << source.seed << "U, " << source.size << "}";
}

class Random {
 public:
  explicit Random(const Source& source) : engine_(source.seed), size_(source.size) {}

  // ---- building blocks

  std::uint64_t bits() { return engine_(); }
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(engine_() % end); }
  bool chance(std::size_t one_in = 2) { return below(one_in) == 0; }
  std::size_t count() { return below(static_cast<std::size_t>(size_) + 1); }

  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }

  template <class Enum>
  Enum any_of(Enum last) {
    return static_cast<Enum>(below(static_cast<std::size_t>(last) + 1));
  }

  template <class Make>
  auto maybe(Make&& make) -> std::optional<decltype(make())> {
    if (chance()) return std::nullopt;
    return make();
  }

  template <class Make>
  auto list(Make&& make) -> std::vector<decltype(make())> {
    std::vector<decltype(make())> result;
    for (std::size_t left = count(); left > 0; --left) result.push_back(make());
    return result;
  }

  std::int64_t integer();
  double real();
  std::string text();
  std::string bytes();

  // ---- Json

  Json json(int depth = 3);
  Json object(int depth = 3);
  Json metadata();
  Json unknown_fields();

  // ---- data types

  ToolCall tool_call();
  Tool tool();
  decltype(Image::source) source();
  Image image();
  TextPart text_part();
  ImagePart image_part();
  FilePart file_part();
  File file();
  AudioPart audio_part();
  Audio audio();
  Part part();
  Content content();
  Message message();
  Thread thread();
  // A thread with calls and results as after real runs, up to about 40 messages: several calls in a message, repeated
  // ids, results in any order, a user message before a result, calls without a result, and results without a call.
  Thread conversation();
  ModelRef model();
  Request request();
  Usage usage();
  Response response();
  PendingToolCall pending_tool_call();
  // `response` is that of the step, or the last response of the run.
  ended::AskUser question(const Response& response);
  StepEnd step_end(const Response& response);
  ended::Limit limit();
  RunEnd run_end(const Response& response);
  StepResult step_result();
  ChatResult chat_result();
  Session session();
  Path path();
  Error error();
  // An error of the kind with this index in Error::Detail.
  Error error_of_kind(std::size_t kind);

 private:
  void append_character(std::string& text);

  std::mt19937_64 engine_;
  int size_;
};

}  // namespace allm::gen

namespace rc {

template <>
struct Arbitrary<allm::gen::Source> {
  static Gen<allm::gen::Source> arbitrary() {
    return gen::build<allm::gen::Source>(
        gen::set(&allm::gen::Source::seed, gen::noShrink(gen::arbitrary<std::uint64_t>())),
        gen::set(&allm::gen::Source::size, gen::inRange(0, 4)));
  }
};

}  // namespace rc
