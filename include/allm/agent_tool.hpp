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
  // The schema of the arguments. The agent's first user message is the argument `task` if that is a text, else all
  // arguments as JSON.
  Json schema = default_schema();
  // How long a call may take. The default is longer than for other tools, because an agent makes several model calls.
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  // The maximum depth of agents that call agents. An agent that the program's own run calls has depth 1, an agent that
  // this agent calls has depth 2, and so on. Deeper calls fail, so that agents cannot call each other without end.
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
// - The approval gate of the agent, if there is one, decides first on the agent's tool calls; then the gate of the
//   calling run decides on those that are allowed.
// - Cancelling or dropping the calling run ends the agent, as does the deadline of the call.
//
// The agent's answer is the result of the call. If the agent asks the user a question, the calling run ends with that
// question. The reply goes to the calling model, which may call the agent again; the agent then starts a new
// conversation. If one of the agent's tools halts, the calling run halts. If the agent ends in any other way (an error,
// a limit, or a pending call, which nobody could answer), the call fails. Progress reports name each tool that the
// agent runs: {"agent": name, "tool": name}.
//
// The agent is polled on the consumer's thread, as the calling run is: callbacks run there, and agents that wait for
// models cost no threads. The tool works in runs and in the tool runner; a handler or executor that is called without
// a run (ToolContext::for_testing) gets a failure.
Tool agent_tool(Engine engine, AgentToolOptions options);

}  // namespace allm
