// Runs steps with LangGraph and its SQLite checkpointer, as bench/stores/steps.cpp does with allm: a scripted model that
// answers with a text and a tool call, and a tool. Prints the microseconds of a step.
//
//   node langgraph.mjs FOLDER STEPS RUNS full|default|settings TEXT_BYTES ARGUMENT_BYTES RESULT_BYTES
//
// full: each commit is synced, and a checkpoint is written before the next step begins (durability "sync").
// default: what SqliteSaver and invoke() do without options. settings: prints what that is, and no time.
import { rmSync } from "node:fs";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";

const [folder, steps, runs, mode, textBytes, argumentBytes, resultBytes] = process.argv
  .slice(2)
  .map((word, i) => (i === 0 || i === 3 ? word : Number(word)));
const text = "t".repeat(textBytes);
const argument = "a".repeat(argumentBytes);
const result = "r".repeat(resultBytes);

function model({ messages }) {
  const step = messages.filter((message) => message.getType() === "ai").length;
  if (step === steps) return { messages: [new AIMessage("done")] };
  const call = { id: `call_${step}`, name: "look", args: { x: argument } };
  return { messages: [new AIMessage({ content: text, tool_calls: [call] })] };
}

function tools({ messages }) {
  const [call] = messages.at(-1).tool_calls;
  return { messages: [new ToolMessage({ content: result, tool_call_id: call.id, name: call.name })] };
}

const file = `${folder}/langgraph.db`;
const remove = () => ["", "-wal", "-shm"].forEach((end) => rmSync(file + end, { force: true }));
remove();
const saver = SqliteSaver.fromConnString(file);
if (mode === "full") saver.db.pragma("synchronous = FULL");
const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", model)
  .addNode("tools", tools)
  .addEdge(START, "model")
  .addConditionalEdges("model", ({ messages }) => (messages.at(-1).tool_calls?.length ? "tools" : END))
  .addEdge("tools", "model")
  .compile({ checkpointer: saver });

async function run(id) {
  const options = { configurable: { thread_id: id }, recursionLimit: 2 * steps + 5 };
  if (mode === "full") options.durability = "sync";
  const { messages } = await graph.invoke({ messages: [new HumanMessage("Look at everything.")] }, options);
  if (messages.length !== 2 * steps + 2) throw new Error(`${messages.length} messages`);
}

// The first runs are slower: the compiler of node has not seen the code.
for (let i = 0; i < 3; ++i) await run(`warm ${i}`);
if (mode === "settings") {
  const settings = ["journal_mode", "synchronous"].map((name) => `${name} = ${saver.db.pragma(name, { simple: true })}`);
  const count = (table) => saver.db.prepare(`SELECT count(*) FROM ${table} WHERE thread_id = 'warm 2'`).pluck().get();
  console.log(`${settings.join(", ")}; a run writes ${count("checkpoints")} checkpoints, ${count("writes")} writes`);
} else {
  const begin = process.hrtime.bigint();
  for (let i = 0; i < runs; ++i) await run(`run ${i}`);
  console.log(Number(process.hrtime.bigint() - begin) / 1_000 / steps / runs);
}
saver.db.close();
remove();
