// agent_tool: an agent as a tool of another agent.
//
//   allm::Tool researcher = allm::agent_tool(engine, {
//       .name = "researcher",
//       .description = "Finds facts on the web.",
//       .instructions = "You find facts. Answer in three sentences.",
//   });
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "allm/engine.hpp"
#include "allm/options.hpp"
#include "allm/tool.hpp"

namespace allm {

struct AgentToolOptions {
  std::string name = "agent";
  std::string description = {};   // what the agent is good for; the calling model reads it
  std::string instructions = {};  // the agent's system message; empty for none
  // The schema of the arguments. The agent's first message is the text of `task`; where there is no such text, all
  // arguments as JSON.
  Json schema = default_schema();
  // How long a call may take. Longer than that of other tools, because an agent makes several model calls.
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  // How deep agents may call agents; the agent of a run that no agent started has depth 1. Deeper calls fail, so that
  // agents cannot call each other without end.
  int max_depth = 4;
  // Options of the agent's runs: max_turns, limits, halt_when, prepare_step, on_event (which receives the agent's
  // events) and so on. Ids and trace are always those of the calling run. The context is that of the calling run unless
  // it is set here, and the deadline is that of the call unless `run_timeout` ends earlier.
  CallOptions options = {};

  static Json default_schema();  // {"task": string}, required
};

// A tool whose calls are runs of `engine`: its model, its tools, its instructions. Each call begins a new conversation.
//
// A call is part of the run that made it:
// - Tokens, costs and tool calls count in the limits of the calling run and in its usage; limits of `options` are the
//   agent's own, in addition.
// - The gate of the calling run decides on the agent's tool calls, after that of the agent, if there is one.
// - Cancelling or dropping the calling run ends the agent, as does the deadline of the call.
//
// The agent's answer is the result. Its question becomes the calling run's question; a reply goes to the calling model,
// which may call the agent again; the agent then starts a new conversation. A halt by one of its tools halts the
// calling run. Any other end (an error, a limit, or a pending call, which nothing could answer) is a failure of the
// call. Progress reports name each tool that the agent runs: {"agent": name, "tool": name}.
//
// The agent is polled on the consumer's thread, as the calling run is: callbacks run there, and agents that wait for
// models cost no threads. The tool works in runs and in the tool runner; a handler or executor that is called without
// a run (ToolContext::for_testing) gets a failure.
Tool agent_tool(Engine engine, AgentToolOptions options);

}  // namespace allm
