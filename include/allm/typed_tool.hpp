// Typed tools: a described struct (allm/describe.hpp) as a tool's arguments.
//
//   auto forecast = allm::tool<Forecast>({
//       .name = "forecast",
//       .description = "Weather of the coming days.",
//       .handler = [](const Forecast& args) { return allm::ok({{"city", args.city}, {"sky", "clear"}}); },
//   });
//
// The result is a plain Tool: its schema is that of the struct, and its handler parses the arguments and calls yours.
// Invalid arguments never reach your handler: the call fails with ToolError `invalid_arguments`, whose message names
// every error.
//
// A handler accepts the struct by value or by const reference; the other parameters are as in allm/handler.hpp:
//   (Args), (Args, const ToolContext&)                                   → ToolOutcome
//   (Args, ToolCompletion), (Args, const ToolContext&, ToolCompletion)   → void
// The last two forms answer later. Such a handler must accept the struct by value if it needs it after it has returned.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "allm/describe.hpp"
#include "allm/tool.hpp"

namespace allm {

namespace detail {

// ToolError `invalid_arguments` for the call, from the parser's error.
ToolOutcome argument_failure(const Error& error, const ToolCall& call);

}  // namespace detail

// A handler of any of the forms above.
template <Described Args>
class TypedHandler {
 public:
  TypedHandler() = default;
  TypedHandler(std::nullptr_t) {}
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, TypedHandler>)
  TypedHandler(F&& function) {
    using Function = std::decay_t<F>;
    static_assert(detail::HandlerOf<Function, Args>,
                  "a typed handler is a const callable of one of four forms: "
                  "(Args) -> ToolOutcome; (Args, const ToolContext&) -> ToolOutcome; "
                  "(Args, ToolCompletion) -> void; (Args, const ToolContext&, ToolCompletion) -> void. "
                  "Args is the struct of tool<Args>, by value or by const reference; "
                  "return ok(value), failure(reason), ask_user(question) or halt(reason)");
    if constexpr (detail::HandlerOf<Function, Args>) handler_ = parsing(std::forward<F>(function));
  }

  // The handler that parses the arguments and calls the typed one.
  const Handler& handler() const { return handler_; }

 private:
  template <class F>
  static Handler parsing(F&& function) {
    return [function = std::forward<F>(function)](const Json& json, const ToolContext& context, ToolCompletion done) {
      Result<Args> args = arguments_from_json<Args>(json);
      if (!args.has_value()) {
        done(detail::argument_failure(args.error(), context.tool_call()));
      } else {
        detail::call_handler<Args>(function, *std::move(args), context, std::move(done));
      }
    };
  }

  Handler handler_;
};

// The declaration of a Tool, with a struct instead of the schema. See Tool for the fields.
template <Described Args>
struct TypedTool {
  std::string name;
  std::string description = {};
  TypedHandler<Args> handler = {};
  bool manual = false;
  bool compact = false;
  std::optional<std::string> summary = std::nullopt;
  // If false, the parser of the struct still rejects invalid arguments, with its own messages.
  bool validate_arguments = true;
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;
  Lane lane = Lane::thread;
  std::optional<Command> command = std::nullopt;
  ToolLimits limits = {};
  OnInterrupted on_interrupted = OnInterrupted::fail;
  Json metadata = empty_object();
  Json unknown_fields = null_json();
};

// Makes the tool. A manual tool needs no handler: the program reads the arguments of its calls with
// arguments_from_json<Args>(call.arguments).
template <Described Args>
Tool tool(TypedTool<Args> declaration) {
  return Tool{.name = std::move(declaration.name),
              .description = std::move(declaration.description),
              .schema = schema_of<Args>(),
              .handler = declaration.handler.handler(),
              .manual = declaration.manual,
              .compact = declaration.compact,
              .summary = std::move(declaration.summary),
              .validate_arguments = declaration.validate_arguments,
              .timeout = declaration.timeout,
              .lane = declaration.lane,
              .command = std::move(declaration.command),
              .limits = std::move(declaration.limits),
              .on_interrupted = declaration.on_interrupted,
              .metadata = std::move(declaration.metadata),
              .unknown_fields = std::move(declaration.unknown_fields)};
}

// Makes a successful outcome whose value is the struct as JSON.
template <Described T>
ToolOutcome ok(const T& value) {
  return ok(json_of(value));
}

}  // namespace allm
