// What aimock answers, by the text of the last user message; and the values that tests expect.

// Emoji are two UTF-16 units. aimock cuts texts at any unit, so their halves arrive in different events.
export const text = "Grüße aus Rom: 21 °C, sonnig ☀️ 😀👩‍💻, 東京 is 9 hours ahead. " +
  "\"Quotes\", back\\slashes, tabs\t and\nlines stay as they are. 🇮🇹🚀".repeat(3);
export const reasoning = "The user asks for a greeting 🤔 in several scripts.";
export const structured = { city: "Rom ☀️", celsius: 21 };
export const rome = { name: "weather", arguments: { city: "Rome" } };
export const tokyo = { name: "time", arguments: { city: "東京 🗼" } };
export const toolAnswer = "Rome has 21 degrees; in 東京 it is 18:00. 🗼";

// The first answer of the conversation whose requests are compared.
const look = {
  content: "I look both up.",
  reasoning: "Two tools are needed.",
  reasoningSignature: "c2lnbmF0dXJl",
  toolCalls: [{ ...rome, id: "call_1aaaaaaaa" }, { ...tokyo, id: "call_2bbbbbbbb" }],
};

// The same numbers by the names of every provider.
const usage = {
  prompt_tokens: 321, completion_tokens: 45, input_tokens: 321, output_tokens: 45,
  promptTokenCount: 321, candidatesTokenCount: 45,
};

const error = (status, message, type) => ({
  match: { userMessage: `error ${status}` },
  response: { error: { message, type, code: type }, status },
});

export const fixtures = [
  { match: { userMessage: "greet" }, response: { content: text }, chunkSize: 7 },
  { match: { userMessage: "letter by letter" }, response: { content: text }, chunkSize: 1 },
  { match: { userMessage: "think" }, response: { content: text, reasoning }, chunkSize: 9 },
  { match: { userMessage: "count tokens" }, response: { content: "counted", usage } },
  { match: { userMessage: "cut by length" }, response: { content: "too lo", finishReason: "length" } },
  { match: { userMessage: "filtered" }, response: { content: "I can", finishReason: "content_filter" } },
  { match: { userMessage: "weather of Rome", hasToolResult: true }, response: { content: toolAnswer }, chunkSize: 5 },
  { match: { userMessage: "weather of Rome" }, response: { toolCalls: [rome] }, chunkSize: 3 },
  { match: { userMessage: "weather and time", hasToolResult: true }, response: { content: toolAnswer }, chunkSize: 5 },
  { match: { userMessage: "weather and time" }, response: { toolCalls: [rome, tokyo] }, chunkSize: 3 },
  {
    match: { userMessage: "as JSON", toolName: "respond_with_json_answer" },
    response: { toolCalls: [{ name: "respond_with_json_answer", arguments: structured }] },
    chunkSize: 3,
  },
  { match: { userMessage: "as JSON" }, response: { content: structured }, chunkSize: 3 },
  { match: { userMessage: "in the picture", hasToolResult: true }, response: { content: toolAnswer }, chunkSize: 500 },
  { match: { userMessage: "in the picture" }, response: look, chunkSize: 500 },
  error(401, "the key is wrong", "authentication_error"),
  error(429, "slow down", "rate_limit_error"),
  error(500, "the server has a fault", "server_error"),
  { match: { userMessage: "hang up" }, response: { content: text }, chunkSize: 7, truncateAfterChunks: 6 },
];
