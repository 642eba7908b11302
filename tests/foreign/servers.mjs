// Starts and stops the servers that others wrote.
import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { buildFolder, packageFolder } from "./packages.mjs";
import { fixtures } from "./fixtures.mjs";

const logs = join(buildFolder, "logs");
const children = [];

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

async function answers(url) {
  try {
    await fetch(url);
    return true;
  } catch {
    return false;
  }
}

// Starts a Node program and waits until its port answers.
async function start(name, port, script, parameters, variables = {}) {
  mkdirSync(logs, { recursive: true });
  const environment = { PATH: process.env.PATH, HOME: buildFolder, ...variables };
  const child = spawn(process.execPath, [script, ...parameters], { cwd: buildFolder, env: environment });
  children.push(child);
  const log = createWriteStream(join(logs, `${name}.log`));
  child.stdout.pipe(log);
  child.stderr.pipe(log);
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; attempt < 300; ++attempt) {
    if (child.exitCode !== null) break;
    if (await answers(url)) return url;
    await pause(100);
  }
  throw new Error(`${name} did not start; see build-foreign/logs/${name}.log`);
}

// aimock with our fixtures; `chaos` are options of its command line.
export async function startAimock(name, chaos = []) {
  const file = join(buildFolder, "fixtures.json");
  writeFileSync(file, JSON.stringify({ fixtures }));
  const port = await freePort();
  const script = join(packageFolder("@copilotkit/aimock"), "dist", "cli.js");
  const parameters = ["-p", String(port), "-f", file, "--strict", "--log-level", "warn", "--validate-on-load"];
  return start(name, port, script, [...parameters, ...chaos]);
}

// mock-ollama translates between Anthropic's protocol and both of OpenAI's. `style` is the protocol that `upstream`
// speaks.
export async function startBridge(style, upstream) {
  const port = await freePort();
  const script = join(packageFolder("mock-ollama"), "dist", "index.js");
  const parameters = ["--host", "127.0.0.1", "--port", String(port), "--url", upstream, "--apikey", "key-of-the-bridge",
    "--api-style", style, "--bridge", "--quiet"];
  const name = `mock-ollama-${style}`;
  return start(name, port, script, parameters, { MOCK_OLLAMA_TOKEN_DB_PATH: join(buildFolder, `${name}.db`) });
}

export async function startPortkey() {
  const port = await freePort();
  const script = join(packageFolder("@portkey-ai/gateway"), "build", "start-server.js");
  return start("portkey", port, script, [`--port=${port}`, "--headless"]);
}

// No server outlives this process, however it ends.
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));
