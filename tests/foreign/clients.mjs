// The official clients, each behind the same function: ask(url, {prompt, tools, schema, stream}) returns
// {text, reasoning, calls, input, output} of one model call. OpenAI's client does not know reasoning in chat completions.
import { load } from "./packages.mjs";

const { OpenAI } = load("openai");
const { Anthropic } = load("@anthropic-ai/sdk");
const { GoogleGenAI } = load("@google/genai");

export const key = "the-key-of-the-test";

export const openai = (url, retries = 0) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: retries });
export const anthropic = (url, retries = 0) => new Anthropic({ baseURL: url, apiKey: key, maxRetries: retries });
export const gemini = (url, attempts = 1) =>
  new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url, apiVersion: "v1beta", retryOptions: { attempts } } });

const callsFrom = (calls) => calls.map(({ name, text }) => ({ name, arguments: JSON.parse(text || "{}") }));

async function askChat(url, { model, prompt, tools, schema, stream }) {
  const request = {
    model,
    messages: [{ role: "user", content: prompt }],
    ...(tools && { tools: tools.map((tool) => ({
      type: "function", function: { name: tool.name, description: tool.description, parameters: tool.schema },
    })) }),
    ...(schema && { response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } } }),
  };
  const api = openai(url).chat.completions;
  const done = stream
    ? await api.stream({ ...request, stream_options: { include_usage: true } }).finalChatCompletion()
    : await api.create(request);
  const { message } = done.choices[0];
  return {
    text: message.content ?? "",
    calls: callsFrom((message.tool_calls ?? []).map(({ function: f }) => ({ name: f.name, text: f.arguments }))),
    input: done.usage?.prompt_tokens,
    output: done.usage?.completion_tokens,
  };
}

async function askResponses(url, { model, prompt, tools, schema, stream }) {
  const request = {
    model,
    input: [{ role: "user", content: prompt }],
    ...(tools && { tools: tools.map((tool) => ({
      type: "function", name: tool.name, description: tool.description, parameters: tool.schema, strict: false,
    })) }),
    ...(schema && { text: { format: { type: "json_schema", name: "answer", schema, strict: true } } }),
  };
  const api = openai(url).responses;
  const done = stream ? await api.stream(request).finalResponse() : await api.create(request);
  const reasoning = done.output.filter((item) => item.type === "reasoning").flatMap((item) => item.summary);
  return {
    text: done.output_text,
    reasoning: reasoning.map((summary) => summary.text).join(""),
    calls: callsFrom(done.output.filter((item) => item.type === "function_call")
      .map((item) => ({ name: item.name, text: item.arguments }))),
    input: done.usage?.input_tokens,
    output: done.usage?.output_tokens,
  };
}

async function askAnthropic(url, { model, prompt, tools, schema, stream }) {
  const request = {
    model,
    max_tokens: 4096,
    messages: [{ role: "user", content: prompt }],
    ...(tools && { tools: tools.map((tool) => ({
      name: tool.name, description: tool.description, input_schema: tool.schema,
    })) }),
    ...(schema && { output_config: { format: { type: "json_schema", schema } } }),
  };
  const api = anthropic(url).messages;
  const done = stream ? await api.stream(request).finalMessage() : await api.create(request);
  const blocks = (type) => done.content.filter((block) => block.type === type);
  return {
    text: blocks("text").map((block) => block.text).join(""),
    reasoning: blocks("thinking").map((block) => block.thinking).join(""),
    calls: blocks("tool_use").map((block) => ({ name: block.name, arguments: block.input })),
    input: done.usage.input_tokens,
    output: done.usage.output_tokens,
  };
}

async function askGemini(url, { model, prompt, tools, schema, stream }) {
  const request = {
    model,
    contents: [{ role: "user", parts: [{ text: prompt }] }],
    config: {
      ...(tools && { tools: [{ functionDeclarations: tools.map((tool) => ({
        name: tool.name, description: tool.description, parametersJsonSchema: tool.schema,
      })) }] }),
      ...(schema && { responseMimeType: "application/json", responseJsonSchema: schema }),
    },
  };
  const api = gemini(url).models;
  const chunks = [];
  if (stream) for await (const chunk of await api.generateContentStream(request)) chunks.push(chunk);
  else chunks.push(await api.generateContent(request));
  const parts = chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
  const last = chunks[chunks.length - 1];
  return {
    text: parts.filter((part) => part.text && !part.thought).map((part) => part.text).join(""),
    reasoning: parts.filter((part) => part.text && part.thought).map((part) => part.text).join(""),
    calls: parts.filter((part) => part.functionCall)
      .map(({ functionCall }) => ({ name: functionCall.name, arguments: functionCall.args })),
    input: last.usageMetadata?.promptTokenCount,
    output: last.usageMetadata?.candidatesTokenCount,
  };
}

export const ask = {
  "openai-chat": askChat, "openai-responses": askResponses, anthropic: askAnthropic, gemini: askGemini,
};
