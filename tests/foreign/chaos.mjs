// Part two: 1,000 calls over bad connections and to servers that fail. Every call must end, and a text that is complete
// or is seen before an error must be right.
import { errorOf, isPrefix, jobOf, tools, toolResults } from "./features.mjs";
import { startChaosProxy } from "./chaos_proxy.mjs";
import { rome, text, tokyo, toolAnswer } from "./fixtures.mjs";
import { rowsOf } from "./matrix.mjs";
import { pick, random } from "./random.mjs";
import { startAimock } from "./servers.mjs";

const runs = 1000;
const concurrent = 8;
const aimockChaos = ["--chaos-drop", "0.1", "--chaos-malformed", "0.1", "--chaos-ratelimit", "0.1",
  "--chaos-disconnect", "0.25"];

const greeting = { name: "text", expected: text, job: { prompt: "greet" } };
const tasks = [
  greeting,
  { name: "letters", expected: text, job: { prompt: "letter by letter" } },
  {
    name: "agent", expected: toolAnswer, calls: [rome, tokyo],
    job: { mode: "chat", prompt: "weather and time", tools, tool_results: toolResults },
  },
];
// The reasons that a program may see after such faults.
const reasons = ["network_error", "timeout", "rate_limited", "provider_unavailable", "malformed_response"];

function faultOf(task, answer) {
  if (answer.fault) return answer.fault;
  const error = errorOf(answer)?.data;
  if (error && !reasons.includes(error.reason)) return `reason ${error.reason}: ${error.message}`;
  if (!isPrefix(answer.seen.text, task.expected)) return `wrong text ${JSON.stringify(answer.seen.text)}`;
  if (!error && answer.result.text !== task.expected) return `no error, but ${JSON.stringify(answer.result.text)}`;
  for (const call of answer.seen.calls) {
    if (!task.calls.some((known) => JSON.stringify(known) === JSON.stringify(call))) {
      return `a tool ran with ${JSON.stringify(call)}`;
    }
  }
  return null;
}

// The servers with a proxy in front of each. Portkey and the bridges are disturbed only in front, because we test what
// allm makes of a bad connection, not what they do.
async function disturbedServers({ aimock, bridges, portkey }, next) {
  const proxies = [];
  const disturbed = async (url) => {
    proxies.push(await startChaosProxy(url, next));
    return proxies[proxies.length - 1].url;
  };
  const direct = rowsOf({ aimock: await disturbed(aimock), bridges: {}, portkey }).filter((row) => row.client);
  const behind = rowsOf({
    aimock,
    bridges: Object.fromEntries(await Promise.all(
      Object.entries(bridges).map(async ([style, url]) => [style, await disturbed(url)]))),
    portkey: await disturbed(portkey),
  }).filter((row) => row.name.includes("mock-ollama") || row.name.includes("Portkey, openai"));
  return { rows: [...direct, ...behind], close: () => proxies.forEach((proxy) => proxy.close()) };
}

async function plannedRuns(servers, next) {
  const disturbed = await disturbedServers(servers, next);
  const failing = await startAimock("aimock-chaos", aimockChaos);
  const failingRows = rowsOf({ aimock: failing, bridges: {}, portkey: servers.portkey }).filter((row) => row.client);
  const plans = Array.from({ length: runs }, (_, number) => ({
    number, row: pick(next, number % 2 ? disturbed.rows : failingRows), task: pick(next, tasks),
    attempts: 1 + Math.floor(next() * 3), proxied: number % 2 === 1,
  }));
  return { plans, close: disturbed.close };
}

export async function runChaos(driver, servers, report) {
  const seed = Number(process.env.ALLM_FOREIGN_SEED ?? 14);
  const { plans, close } = await plannedRuns(servers, random(seed));
  const counts = {};
  const left = [...plans];
  const worker = async () => {
    for (let plan = left.shift(); plan; plan = left.shift()) {
      const limits = { attempts: plan.attempts, stream_timeout: 500, receive_timeout: 2000 };
      const answer = await driver.run(jobOf(plan.row, plan.task.job, limits));
      const outcome = answer.fault ?? errorOf(answer)?.data.reason ?? "complete";
      counts[outcome] = (counts[outcome] ?? 0) + 1;
      const where = plan.proxied ? "bad connection" : "failing aimock";
      report.check(`run ${plan.number}, ${plan.row.name}, ${plan.task.name}, ${where}`, faultOf(plan.task, answer));
    }
  };
  await Promise.all(Array.from({ length: concurrent }, worker));
  close();
  const summary = Object.entries(counts).sort((a, b) => b[1] - a[1]).map(([name, count]) => `${name} ${count}`);
  report.print(`${runs} runs, seed ${seed} (ALLM_FOREIGN_SEED): ${summary.join(", ")}`);
}
