// The same conversation by each official client, as its documentation shows it, and by allm: a system prompt, an image,
// two tool calls of which one fails, reasoning that goes back, a second turn with structured output.
import { anthropic, gemini, openai } from "./clients.mjs";
import { schema, tools } from "./features.mjs";

const system = "You are a guide.";
const question = "What is the weather and the time of the city in the picture?";
const second = "Now the city and its degrees as JSON.";
// A PNG of one pixel.
const image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const maxTokens = 3000;
const budget = 1024;

// What allm's tools return in this conversation, and the text that it sends for each of them.
const results = { weather: { celsius: 21 }, time: { failure: "the clock is broken" } };
const sent = { weather: JSON.stringify(results.weather), time: JSON.stringify({ error: "the clock is broken" }) };

async function chatConversation(url) {
  const api = openai(url).chat.completions;
  const functions = tools.map((tool) => ({
    type: "function", function: { name: tool.name, description: tool.description, parameters: tool.schema },
  }));
  const common = {
    model: "gpt-4.1-mini", temperature: 0.5, max_completion_tokens: maxTokens, tools: functions,
    stream_options: { include_usage: true },
  };
  const messages = [
    { role: "system", content: system },
    { role: "user", content: [
      { type: "text", text: question },
      { type: "image_url", image_url: { url: `data:image/png;base64,${image}` } },
    ] },
  ];
  const ask = async (more) => {
    const done = await api.stream({ ...common, ...more, messages }).finalChatCompletion();
    messages.push(done.choices[0].message);
    return done.choices[0].message;
  };
  for (const call of (await ask()).tool_calls) {
    messages.push({ role: "tool", tool_call_id: call.id, content: sent[call.function.name] });
  }
  await ask();
  messages.push({ role: "user", content: second });
  await ask({ response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } } });
}

async function responsesConversation(url) {
  const api = openai(url).responses;
  const functions = tools.map((tool) => ({
    type: "function", name: tool.name, description: tool.description, parameters: tool.schema, strict: false,
  }));
  const common = {
    model: "gpt-5-mini", max_output_tokens: maxTokens, tools: functions, store: false,
    include: ["reasoning.encrypted_content"],
  };
  const input = [
    { role: "system", content: system },
    { role: "user", content: [
      { type: "input_text", text: question },
      { type: "input_image", image_url: `data:image/png;base64,${image}`, detail: "auto" },
    ] },
  ];
  const ask = async (more) => {
    const done = await api.stream({ ...common, ...more, input }).finalResponse();
    input.push(...done.output);
    return done.output;
  };
  for (const call of (await ask()).filter((item) => item.type === "function_call")) {
    input.push({ type: "function_call_output", call_id: call.call_id, output: sent[call.name] });
  }
  await ask();
  input.push({ role: "user", content: second });
  await ask({ text: { format: { type: "json_schema", name: "answer", schema, strict: true } } });
}

async function anthropicConversation(url) {
  const api = anthropic(url).messages;
  const common = {
    model: "claude-sonnet-4-6", max_tokens: maxTokens, system, thinking: { type: "enabled", budget_tokens: budget },
    tools: tools.map((tool) => ({ name: tool.name, description: tool.description, input_schema: tool.schema })),
  };
  const messages = [{ role: "user", content: [
    { type: "text", text: question },
    { type: "image", source: { type: "base64", media_type: "image/png", data: image } },
  ] }];
  const ask = async (more) => {
    const done = await api.stream({ ...common, ...more, messages }).finalMessage();
    messages.push({ role: done.role, content: done.content });
    return done.content;
  };
  const calls = (await ask()).filter((block) => block.type === "tool_use");
  messages.push({ role: "user", content: calls.map((call) => ({
    type: "tool_result", tool_use_id: call.id, content: sent[call.name],
    ...(results[call.name].failure && { is_error: true }),
  })) });
  await ask();
  messages.push({ role: "user", content: second });
  await ask({ output_config: { format: { type: "json_schema", schema } } });
}

async function geminiConversation(url) {
  const api = gemini(url).models;
  const common = {
    systemInstruction: system, temperature: 0.5, maxOutputTokens: maxTokens,
    thinkingConfig: { includeThoughts: true, thinkingBudget: budget },
    tools: [{ functionDeclarations: tools.map((tool) => ({
      name: tool.name, description: tool.description, parameters: tool.schema,
    })) }],
  };
  const contents = [{ role: "user", parts: [
    { text: question }, { inlineData: { mimeType: "image/png", data: image } },
  ] }];
  const ask = async (more) => {
    const parts = [];
    const request = { model: "gemini-2.5-flash", contents, config: { ...common, ...more } };
    for await (const chunk of await api.generateContentStream(request)) {
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
    }
    contents.push({ role: "model", parts });
    return parts;
  };
  const calls = (await ask()).filter((part) => part.functionCall);
  contents.push({ role: "user", parts: calls.map(({ functionCall: { id, name } }) => ({
    functionResponse: { id, name, response: JSON.parse(sent[name]) },
  })) });
  await ask();
  contents.push({ role: "user", parts: [{ text: second }] });
  await ask({ responseMimeType: "application/json", responseSchema: schema });
}

// How allm is asked for the same; `options` are settings by the provider's own names.
const asked = {
  "openai-chat": { path: "/v1", model: "gpt-4.1-mini", request: { temperature: 0.5 } },
  "openai-responses": { path: "/v1", model: "gpt-5-mini", request: {} },
  anthropic: {
    path: "/v1", model: "claude-sonnet-4-6", native_structured_output: true,
    request: { options: { thinking: { type: "enabled", budget_tokens: budget } } },
  },
  gemini: {
    path: "/v1beta", model: "gemini-2.5-flash",
    request: {
      temperature: 0.5, options: { thinkingConfig: { includeThoughts: true, thinkingBudget: budget } },
    },
  },
};

export const byClient = {
  "openai-chat": chatConversation,
  "openai-responses": responsesConversation,
  anthropic: anthropicConversation,
  gemini: geminiConversation,
};

// Throws if a turn fails.
export async function byAllm(driver, provider, url) {
  const { path, model, request: settings, ...rest } = asked[provider];
  const turn = async (messages, more) => {
    const request = { messages, tools, max_tokens: maxTokens, ...settings, ...more };
    const answer = await driver.run({
      provider, base_url: url + path, model, mode: "chat", tool_results: results, request, ...rest,
    });
    const error = answer.fault ?? answer.error ?? answer.result.error;
    if (error) throw new Error(JSON.stringify(error));
    return answer.result.messages;
  };
  const messages = await turn([
    { role: "system", content: system },
    { role: "user", content: [
      { text: question }, { image: { source: { type: "base64", value: image }, mime_type: "image/png" } },
    ] },
  ]);
  const format = { type: "json_schema", name: "answer", schema, strict: true };
  await turn([...messages, { role: "user", content: second }], { response_format: format });
}
