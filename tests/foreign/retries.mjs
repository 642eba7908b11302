// Part four: single calls when half of the connections break. With the same number of tries, allm must complete at
// least as many calls as the best official client.
import { createServer, request } from "node:http";
import { anthropic, gemini, openai } from "./clients.mjs";
import { jobOf } from "./features.mjs";
import { random } from "./random.mjs";

const calls = 80;
const tries = 3;

// Passes requests on, or breaks the connection: before the answer, or after its headers. What happens depends only on
// the number of the call and of the try, so that it is the same for every client.
function startBreaker(upstream) {
  let fates;
  const server = createServer((incoming, outgoing) => {
    const [broken, late] = [fates() < 0.5, fates() < 0.5];
    if (broken && !late) return incoming.socket.resetAndDestroy();
    const options = { method: incoming.method, headers: incoming.headers };
    incoming.pipe(request(upstream + incoming.url, options, (answer) => {
      outgoing.writeHead(answer.statusCode, { ...answer.headers, connection: "close" });
      if (!broken) return answer.pipe(outgoing);
      outgoing.flushHeaders();
      setImmediate(() => outgoing.socket?.resetAndDestroy());
      answer.resume();
    }));
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve({
    url: `http://127.0.0.1:${server.address().port}`,
    begin: (call) => (fates = random(1000 + call)),
    close: () => server.close(),
  })));
}

const prompt = "count tokens";
const messages = [{ role: "user", content: prompt }];

// Each returns the text of the answer, or throws.
function clientsOf(driver, url) {
  const chat = openai(url, tries - 1).chat.completions;
  const claude = anthropic(url, tries - 1).messages;
  const google = gemini(url, tries).models;
  const allm = (provider, path, model) => async () => {
    const answer = await driver.run(jobOf({ provider, base_url: url + path, model }, { prompt }, { attempts: tries }));
    return answer.result?.text;
  };
  return {
    "openai": async () =>
      (await chat.create({ model: "gpt-4.1-mini", messages })).choices[0].message.content,
    "@anthropic-ai/sdk": async () =>
      (await claude.create({ model: "claude-sonnet-4-6", max_tokens: 100, messages })).content[0].text,
    "@google/genai": async () =>
      (await google.generateContent({ model: "gemini-2.5-flash", contents: prompt })).text,
    "allm, openai-chat": allm("openai-chat", "/v1", "gpt-4.1-mini"),
    "allm, openai-responses": allm("openai-responses", "/v1", "gpt-5-mini"),
    "allm, anthropic": allm("anthropic", "/v1", "claude-sonnet-4-6"),
    "allm, gemini": allm("gemini", "/v1beta", "gemini-2.5-flash"),
  };
}

async function completed(breaker, call) {
  let count = 0;
  for (let number = 0; number < calls; ++number) {
    breaker.begin(number);
    try {
      if ((await call()) === "counted") ++count;
    } catch {
      // The client gave up.
    }
  }
  return count;
}

export async function runRetries(driver, servers, report) {
  // The official clients wait half a second and more between tries, so all clients run at once, each with its breaker.
  const counts = {};
  await Promise.all(Object.keys(clientsOf(driver, "")).map(async (name) => {
    const breaker = await startBreaker(servers.aimock);
    counts[name] = await completed(breaker, clientsOf(driver, breaker.url)[name]);
    breaker.close();
  }));
  const isOurs = (name) => name.startsWith("allm");
  const best = Math.max(...Object.entries(counts).map(([name, count]) => (isOurs(name) ? 0 : count)));
  for (const [name, count] of Object.entries(counts)) {
    report.print(`${name.padEnd(24)} ${count} of ${calls}`);
    if (isOurs(name)) report.check(`retries of ${name}`, count >= best ? null : `the best client completed ${best}`);
  }
}
