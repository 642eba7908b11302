// The forms that a handler may have, as concepts. For allm/handler.hpp and allm/typed_tool.hpp; programs need not
// include it.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "allm/tool_outcome.hpp"

namespace allm {
class ToolContext;
class ToolCompletion;
}  // namespace allm

namespace allm::detail {

// The type of a callable's first parameter; void if the type is unknown, because the callable is generic or overloaded.
template <class Signature>
struct FirstParameter {
  using type = void;
};
template <class R, class First, class... Rest>
struct FirstParameter<R (*)(First, Rest...)> {
  using type = First;
};
template <class R, class First, class... Rest>
struct FirstParameter<R (*)(First, Rest...) noexcept> {
  using type = First;
};
template <class R, class C, class First, class... Rest>
struct FirstParameter<R (C::*)(First, Rest...) const> {
  using type = First;
};
template <class R, class C, class First, class... Rest>
struct FirstParameter<R (C::*)(First, Rest...) const noexcept> {
  using type = First;
};
template <class F>
  requires requires { &F::operator(); }
struct FirstParameter<F> : FirstParameter<decltype(&F::operator())> {};

// Whether the first parameter of F is Args itself. A Json would convert to nearly every type, and throw at run time if
// it does not match.
template <class F, class Args>
concept TakesItself = std::is_void_v<typename FirstParameter<F>::type> ||
                      std::same_as<std::remove_cvref_t<typename FirstParameter<F>::type>, Args>;

// An outcome type itself, not a type that converts to one.
template <class T>
concept Outcome = std::same_as<T, ToolOutcome> || std::same_as<T, ToolOk> || std::same_as<T, ToolFailure> ||
                  std::same_as<T, AskUser> || std::same_as<T, Halt>;

template <class F, class... Parameters>
concept Answers = std::invocable<const F&, Parameters...> &&
                  Outcome<std::remove_cvref_t<std::invoke_result_t<const F&, Parameters...>>>;
// `bool` is allowed because a lambda may return the result of its completion.
template <class F, class... Parameters>
concept AnswersLater =
    std::invocable<const F&, Parameters...> && (std::is_void_v<std::invoke_result_t<const F&, Parameters...>> ||
                                                std::same_as<std::invoke_result_t<const F&, Parameters...>, bool>);

// The form in which a handler is called with arguments of type A.
template <class F, class A>
concept PlainForm = Answers<F, A>;
template <class F, class A>
concept ContextForm = Answers<F, A, const ToolContext&>;
template <class F, class A>
concept LateForm = AnswersLater<F, A, ToolCompletion>;
template <class F, class A>
concept LateContextForm = AnswersLater<F, A, const ToolContext&, ToolCompletion>;

// A handler of arguments of type Args: Json, or a described struct.
template <class F, class Args, class A = std::conditional_t<std::same_as<Args, Json>, const Json&, Args>>
concept HandlerOf =
    TakesItself<F, Args> && (PlainForm<F, A> || ContextForm<F, A> || LateForm<F, A> || LateContextForm<F, A>);

template <class A, class F, class Arguments, class Context, class Done>
void call_handler(const F& function, Arguments&& arguments, const Context& context, Done done) {
  if constexpr (PlainForm<F, A>) {
    done(function(std::forward<Arguments>(arguments)));
  } else if constexpr (ContextForm<F, A>) {
    done(function(std::forward<Arguments>(arguments), context));
  } else if constexpr (LateForm<F, A>) {
    function(std::forward<Arguments>(arguments), std::move(done));
  } else {
    function(std::forward<Arguments>(arguments), context, std::move(done));
  }
}

}  // namespace allm::detail
