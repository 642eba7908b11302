// The columns of the matrix. A feature has a job for the driver and a check of its answer, which returns the fault or
// null. With `client`, the official client of the provider makes the same call, and its answer must agree.
import { isDeepStrictEqual } from "node:util";
import { reasoning, rome, structured, text, tokyo, toolAnswer } from "./fixtures.mjs";

const city = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
export const tools = [
  { name: "weather", description: "Current weather of a city.", schema: city },
  { name: "time", description: "Current time of a city.", schema: city },
];
export const toolResults = { weather: { celsius: 21 }, time: { clock: "18:00" } };
export const schema = {
  type: "object",
  properties: { city: { type: "string" }, celsius: { type: "integer" } },
  required: ["city", "celsius"],
  additionalProperties: false,
};
const format = { type: "json_schema", name: "answer", schema, strict: true };

const show = (value) => {
  const written = JSON.stringify(value) ?? "nothing";
  return written.length > 300 ? `${written.slice(0, 300)}…` : written;
};
const equal = (what, got, expected) =>
  isDeepStrictEqual(got, expected) ? null : `${what} is ${show(got)}, expected ${show(expected)}`;
const first = (...faults) => faults.find((fault) => fault !== null) ?? null;

// The error of an answer: of the call itself, or of a message that had begun.
export const errorOf = (answer) => answer.error ?? answer.result?.error ?? answer.result?.metadata?.error ?? null;

function complete(answer, finish = "stop") {
  if (answer.fault) return answer.fault;
  if (errorOf(answer)) return `error ${show(errorOf(answer).data)}`;
  return equal("finish_reason", answer.result.finish_reason, finish);
}

function failed(reason, status, message) {
  return (answer) => {
    if (answer.fault) return answer.fault;
    const error = errorOf(answer)?.data;
    if (!error) return `no error, but ${show(answer.result)}`;
    return first(equal("reason", error.reason, reason), equal("status", error.status ?? null, status),
      error.message.includes(message) ? null : `the message is ${show(error.message)}`,
      URL.canParse(error.metadata.url ?? "") ? null : `the URL is ${show(error.metadata.url)}`);
  };
}

// A connection that ends early: an error, and what was seen is the beginning of the text.
function cutOff(answer) {
  if (answer.fault) return answer.fault;
  if (!errorOf(answer)) return "no error";
  return isPrefix(answer.seen.text, text) ? null : `the text is ${show(answer.seen.text)}`;
}

// Half an emoji at the end of what arrived is shown as U+FFFD.
export const isPrefix = (seen, whole) => whole.startsWith(seen.replace(/\uFFFD$/, ""));

const agent = (prompt) => ({ mode: "chat", prompt, tools, tool_results: toolResults });

function agentAnswer(calls) {
  return (answer) => first(complete(answer), equal("text", answer.result?.text, toolAnswer),
    equal("calls", answer.seen?.calls, calls), equal("steps", answer.result?.steps, 2));
}

export const features = [
  {
    name: "text", job: { prompt: "greet" }, client: ["text"],
    check: (answer) => first(complete(answer), equal("text", answer.result?.text, text)),
  },
  {
    name: "stream", job: { prompt: "letter by letter" }, client: ["text"], stream: true,
    check: (answer) => first(complete(answer), equal("text", answer.seen?.text, text),
      answer.seen?.events > 20 ? null : `only ${answer.seen?.events} events`),
  },
  { name: "one tool", job: agent("weather of Rome"), client: ["calls"], stream: true, check: agentAnswer([rome]) },
  {
    name: "parallel tools", job: agent("weather and time"), client: ["calls"], stream: true,
    check: agentAnswer([rome, tokyo]),
  },
  {
    name: "structured", job: { prompt: "as JSON", response_format: format }, client: ["text"],
    check: (answer) => first(complete(answer), equal("JSON", parsed(answer.result?.text), structured)),
  },
  {
    name: "reasoning", job: { prompt: "think" }, client: ["text", "reasoning"], stream: true,
    check: (answer) => first(complete(answer), equal("text", answer.result?.text, text),
      equal("reasoning", answer.result?.reasoning, reasoning)),
  },
  {
    name: "usage", job: { prompt: "count tokens" }, client: ["input", "output"],
    check: (answer) => first(complete(answer), equal("input", answer.result?.usage.data.input_tokens, 321),
      equal("output", answer.result?.usage.data.output_tokens, 45)),
  },
  {
    name: "length", job: { prompt: "cut by length" }, client: ["text"],
    check: (answer) => first(complete(answer, "length"), equal("text", answer.result?.text, "too lo")),
  },
  {
    name: "whole", job: { prompt: "think", stream: false }, client: ["text", "reasoning"],
    check: (answer) => first(complete(answer), equal("text", answer.result?.text, text),
      answer.seen?.events < 20 ? null : `${answer.seen?.events} events`),
  },
  {
    name: "whole, tools", job: { ...agent("weather and time"), stream: false }, client: ["calls"],
    check: agentAnswer([rome, tokyo]),
  },
  { name: "401", job: { prompt: "error 401" }, check: failed("authentication_failed", 401, "the key is wrong") },
  { name: "429", job: { prompt: "error 429" }, check: failed("rate_limited", 429, "slow down") },
  { name: "500", job: { prompt: "error 500" }, check: failed("provider_unavailable", 500, "the server has a fault") },
  { name: "disconnect", job: { prompt: "hang up" }, check: cutOff },
];

function parsed(value) {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

// The driver's job for a feature of a row.
export function jobOf(row, { prompt, response_format, ...rest }, more = {}) {
  const { provider, base_url, model, headers } = row;
  const stream = !row.whole && rest.stream !== false;
  const request = { messages: [{ role: "user", content: prompt }], tools: rest.tools ?? [], stream };
  if (response_format) request.response_format = response_format;
  return { provider, base_url, model, headers, mode: rest.mode, tool_results: rest.tool_results, request, ...more };
}

// Compares an answer of allm with that of the official client.
export function disagreement(feature, answer, official) {
  const ours = {
    text: answer.result.text,
    reasoning: answer.result.reasoning ?? "",
    calls: answer.seen.calls,
    input: answer.result.usage?.data.input_tokens,
    output: answer.result.usage?.data.output_tokens,
  };
  const fields = feature.client.filter((field) => official[field] !== undefined);
  return first(...fields.map((field) => equal(`${field} of allm`, ours[field], official[field])));
}
