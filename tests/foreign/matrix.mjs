// Part one: every provider and preset against every server, feature by feature.
import { ask } from "./clients.mjs";
import { disagreement, features, jobOf, schema, tools } from "./features.mjs";
import { startRecorder } from "./recorder.mjs";

const bridged = [
  { provider: "openai-chat", path: "/v1", model: "gpt-5-mini" },
  { provider: "openai-responses", path: "/v1", model: "gpt-5-mini" },
  { provider: "anthropic", path: "/v1", model: "claude-sonnet-4-6" },
];

const portkey = (target, host, model) => ({
  provider: "portkey", model, headers: { "x-portkey-provider": target, "x-portkey-custom-host": host },
});

// Features that a server cannot do, with the reason.
const noDetails = "aimock sends no incomplete_details";
const noReasoning = "mock-ollama leaves reasoning out when it translates";
const noUsage = "mock-ollama does not ask for usage";
const without = {
  "openai-responses, aimock": { length: noDetails },
  "mistral, aimock": { usage: "aimock sends usage only if stream_options asks for it, which Mistral does not know" },
  "openai-responses, mock-ollama, chat": { usage: noUsage, reasoning: noReasoning },
  "anthropic, mock-ollama, chat": { usage: noUsage, reasoning: noReasoning },
  "openai-chat, mock-ollama, responses": { length: noDetails, reasoning: noReasoning },
  "openai-responses, mock-ollama, responses": { length: noDetails },
  "anthropic, mock-ollama, responses": { length: noDetails, reasoning: noReasoning },
  "openai-chat, mock-ollama, anthropic": { reasoning: noReasoning },
  "openai-responses, mock-ollama, anthropic": { reasoning: noReasoning },
  "chat, Portkey, anthropic": { reasoning: "Portkey leaves thinking out" },
  "chat, Portkey, google": {
    stream: "Portkey expects a stream in Google's older form, which aimock does not send",
    "one tool": "aimock does not know the role function that Portkey gives to results",
    "parallel tools": "as one tool",
    "whole, tools": "as one tool",
    reasoning: "Portkey leaves thoughts out",
    disconnect: "aimock sends whole answers in one piece",
  },
};

export function rowsOf({ aimock, bridges, portkey: gateway }) {
  const native = [
    { provider: "openai-chat", base_url: `${aimock}/v1`, model: "gpt-5-mini" },
    { provider: "openai-responses", base_url: `${aimock}/v1`, model: "gpt-5-mini" },
    { provider: "anthropic", base_url: `${aimock}/v1`, model: "claude-sonnet-4-6" },
    { provider: "gemini", base_url: `${aimock}/v1beta`, model: "gemini-2.5-flash" },
  ].map((row) => ({ ...row, name: `${row.provider}, aimock`, client: ask[row.provider], url: aimock }));
  const presets = ["ollama", "vllm", "llamacpp", "lmstudio", "groq", "mistral", "deepseek", "together", "xai"]
    .map((provider) => ({ provider, base_url: `${aimock}/v1`, model: "some-model" }));
  presets.push({ provider: "openrouter", base_url: `${aimock}/api/v1`, model: "openai/gpt-5-mini" });
  presets.push({
    provider: "azure", model: "gpt-5-mini",
    base_url: `${aimock}/openai/deployments/gpt-5-mini?api-version=2024-10-21`,
  });
  for (const row of presets) row.name = `${row.provider}, aimock`;
  const throughBridges = Object.entries(bridges).flatMap(([style, url]) => bridged.map((row) => ({
    ...row, base_url: url + row.path, name: `${row.provider}, mock-ollama, ${style}`,
  })));
  const throughPortkey = [
    { ...portkey("openai", `${aimock}/v1`, "gpt-5-mini"), name: "chat, Portkey, openai" },
    { ...portkey("anthropic", `${aimock}/v1`, "claude-sonnet-4-6"), name: "chat, Portkey, anthropic" },
    { ...portkey("google", aimock, "gemini-2.5-flash"), name: "chat, Portkey, google", whole: true },
    { ...portkey("anthropic", `${aimock}/v1`, "claude-sonnet-4-6"), provider: "anthropic",
      name: "anthropic, Portkey, anthropic" },
  ].map((row) => ({ ...row, base_url: `${gateway}/v1` }));
  return [...native, ...presets, ...throughBridges, ...throughPortkey];
}

async function officialAnswer(row, feature) {
  const { job } = feature;
  const wanted = { model: row.model, prompt: job.prompt, stream: feature.stream, tools: job.tools && tools,
    schema: job.response_format && schema };
  return row.client(row.url, wanted);
}

async function cell(driver, row, feature) {
  const answer = await driver.run(jobOf(row, feature.job));
  const fault = feature.check(answer);
  if (fault || !row.client || !feature.client) return fault;
  try {
    return disagreement(feature, answer, await officialAnswer(row, feature));
  } catch (error) {
    return `the official client failed: ${error.message}`;
  }
}

// Google needs the tool's name with each result. Portkey takes it from the member `name` of the message.
async function toolNameThroughPortkey(driver, servers) {
  const recorder = await startRecorder(servers.aimock);
  const row = rowsOf({ ...servers, aimock: recorder.url }).find(({ name }) => name === "chat, Portkey, google");
  const job = jobOf(row, { prompt: "weather of Rome", tools });
  const call = { id: "call_1", name: "weather", arguments: { city: "Rome" } };
  job.request.messages.push({ role: "assistant", content: "", metadata: { tool_calls: [call] } });
  job.request.messages.push({ role: "tool", tool_call_id: "call_1", content: "21" });
  await driver.run(job);
  recorder.close();
  const parts = recorder.take().flatMap(({ body }) => body.contents).flatMap((content) => content.parts);
  const name = parts.find((part) => part.functionResponse)?.functionResponse.name;
  return name === "weather" ? null : `the result is that of ${name}`;
}

export async function runMatrix(driver, servers, report) {
  const rows = rowsOf(servers);
  const widths = features.map(({ name }) => Math.max(name.length, 4));
  const line = (name, cells) => `${name.padEnd(41)} ${cells.map((text, i) => text.padEnd(widths[i])).join(" ")}`;
  report.print(line("", features.map(({ name }) => name)));
  for (const row of rows) {
    const faults = await Promise.all(features.map((feature) =>
      without[row.name]?.[feature.name] ? undefined : cell(driver, row, feature)));
    report.print(line(row.name, faults.map((fault) => (fault === undefined ? "–" : fault ? "FAIL" : "ok"))));
    faults.forEach((fault, i) => {
      if (fault !== undefined) report.check(`${row.name}: ${features[i].name}`, fault);
    });
  }
  report.check("chat, Portkey, google: the name of a tool", await toolNameThroughPortkey(driver, servers));
}
