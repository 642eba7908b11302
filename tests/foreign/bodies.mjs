// Part three: the requests of the same conversation, by the official client and by allm, compared field by field.
// expected_differences.json lists the differences that are meant; docs/providers.md explains each of them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { byAllm, byClient } from "./conversations.mjs";
import { compare, matches, withoutMadeUpValues } from "./differences.mjs";
import { here, root } from "./packages.mjs";
import { startRecorder } from "./recorder.mjs";

const expected = JSON.parse(readFileSync(join(here, "expected_differences.json"), "utf8"));

// Headers that the HTTP libraries add by themselves.
const ofTheConnection = ["host", "connection", "content-length", "transfer-encoding", "accept-encoding",
  "accept-language", "sec-fetch-mode"];

const comparable = ({ method, path, headers, body }) => ({
  method,
  path,
  headers: Object.fromEntries(Object.entries(headers).filter(([name]) => !ofTheConnection.includes(name))),
  body,
});

// The differences of the requests of a conversation; one that several requests have is in the list once.
function differencesOf(provider, official, ours) {
  const found = new Map();
  const count = Math.max(official.length, ours.length);
  const [left, right] = [official, ours].map((requests) => withoutMadeUpValues(requests.map(comparable)));
  for (let i = 0; i < count; ++i) {
    compare("", left[i], right[i], (path, kind, client, allm) => {
      const key = `${path} ${kind}`;
      if (!found.has(key)) found.set(key, { provider, requests: [], path: path.slice(1), kind, client, allm });
      found.get(key).requests.push(i + 1);
    });
  }
  return [...found.values()];
}

// With `member`, only a value that has this member is expected.
const explains = (entry, { provider, path, kind, client, allm }) => entry.differences.some((known) =>
  (known.provider === "*" || known.provider === provider) && known.kind === kind && matches(known.path, path) &&
  (!known.member || (client ?? allm)?.[known.member] !== undefined));

const short = (value) => {
  const written = JSON.stringify(value);
  return written.length > 70 ? `${written.slice(0, 70)}…` : written;
};

function reportDifferences(differences, used, report) {
  for (const difference of differences) {
    const entry = expected.find((candidate) => explains(candidate, difference));
    if (entry) used.add(entry);
    const { provider, requests, path, kind, client, allm } = difference;
    const one = kind === "only allm" ? allm : client;
    const values = kind === "differ" ? `${short(client)}, allm ${short(allm)}` : short(one);
    const line = `${provider}, request ${requests.join(", ")}: ${path}: ${kind} ${values}`;
    if (entry) report.print(`  ${line}`);
    report.check(line, entry ? null : "this difference is not in expected_differences.json");
  }
}

const oneLine = (text) => text.replace(/\s+/g, " ");

export async function runBodies(driver, servers, report) {
  const recorder = await startRecorder(servers.aimock);
  const used = new Set();
  for (const provider of Object.keys(byClient)) {
    try {
      await byClient[provider](recorder.url);
      const official = recorder.take();
      await byAllm(driver, provider, recorder.url);
      const ours = recorder.take();
      report.check(`${provider}: three requests each`,
        official.length === 3 && ours.length === 3 ? null : `${official.length} and ${ours.length} requests`);
      reportDifferences(differencesOf(provider, official, ours), used, report);
    } catch (error) {
      recorder.take();
      report.check(`${provider}: the conversation`, error.stack);
    }
  }
  recorder.close();
  const explained = oneLine(readFileSync(join(root, "docs", "providers.md"), "utf8"));
  for (const entry of expected) {
    report.check(`expected: ${entry.why}`, used.has(entry) ? null : "no request has this difference any more");
    report.check(`explained: ${entry.why}`, explained.includes(entry.why) ? null : "not in docs/providers.md");
  }
}
