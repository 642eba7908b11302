// Typed tools: a described struct (allm/describe.hpp) as a tool's arguments.
//
//   auto forecast = allm::tool<Forecast>({
//       .name = "forecast",
//       .description = "Weather of the coming days.",
//       .handler = [](const Forecast& args) { return allm::ok({{"city", args.city}, {"sky", "clear"}}); },
//   });
//
// The result is a plain Tool: its schema is that of the struct, and its handler is yours behind the
// parser. Arguments that do not fit never reach it: the call fails with ToolError
// `invalid_arguments`, whose message names every problem.
//
// A handler takes the struct by value or by const reference, and what follows it as in allm/tool.hpp:
//   (Args), (Args, const ToolContext&)                               → ToolOutcome
//   (Args, ToolCompletion), (Args, const ToolContext&, ToolCompletion)   answers later
// One that answers later and needs its arguments until then takes them by value.
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

template <class F, class Args>
concept TypedPlainHandler = std::is_invocable_r_v<ToolOutcome, const F&, Args>;
template <class F, class Args>
concept TypedContextHandler = std::is_invocable_r_v<ToolOutcome, const F&, Args, const ToolContext&>;
template <class F, class Args>
concept TypedLateHandler = std::is_invocable_v<const F&, Args, ToolCompletion> && !TypedContextHandler<F, Args>;
template <class F, class Args>
concept TypedLateContextHandler = std::is_invocable_v<const F&, Args, const ToolContext&, ToolCompletion>;
template <class F, class Args>
concept TypedAnyHandler = TypedPlainHandler<F, Args> || TypedContextHandler<F, Args> || TypedLateHandler<F, Args> ||
                          TypedLateContextHandler<F, Args>;

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
    requires(!std::same_as<std::remove_cvref_t<F>, TypedHandler> && detail::TypedAnyHandler<std::decay_t<F>, Args>)
  TypedHandler(F&& function) : handler_(parsing(std::forward<F>(function))) {}

  // The handler behind its parser.
  const Handler& handler() const { return handler_; }

 private:
  template <class F>
  static Handler parsing(F&& function) {
    return [function = std::forward<F>(function)](const Json& json, const ToolContext& context, ToolCompletion done) {
      using Function = std::decay_t<F>;
      Result<Args> args = arguments_from_json<Args>(json);
      if (!args.has_value()) {
        done(detail::argument_failure(args.error(), context.tool_call()));
      } else if constexpr (detail::TypedPlainHandler<Function, Args>) {
        done(ToolOutcome(function(std::move(*args))));
      } else if constexpr (detail::TypedContextHandler<Function, Args>) {
        done(ToolOutcome(function(std::move(*args), context)));
      } else if constexpr (detail::TypedLateHandler<Function, Args>) {
        function(std::move(*args), std::move(done));
      } else {
        function(std::move(*args), context, std::move(done));
      }
    };
  }

  Handler handler_;
};

// A Tool's declaration, with the struct in the place of the schema. See Tool for the fields.
template <Described Args>
struct TypedTool {
  std::string name;
  std::string description = {};
  TypedHandler<Args> handler = {};
  bool manual = false;
  bool compact = false;
  std::optional<std::string> summary = std::nullopt;
  // Without this check the parser still reports what does not fit, in its own words.
  bool validate_arguments = true;
  std::optional<std::chrono::milliseconds> timeout = std::nullopt;
  Json metadata = empty_object();
};

// The tool. A manual one needs no handler: the program reads its calls with
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
              .metadata = std::move(declaration.metadata)};
}

// A described struct as a tool's result.
template <Described T>
ToolOutcome ok(const T& value) {
  return ok(json_of(value));
}

}  // namespace allm
