// `make foreign`: allm against servers and beside clients that others wrote. README.md describes the parts.
//
//   node tests/foreign/run.mjs DRIVER [matrix|chaos|bodies|retries]...
import { runBodies } from "./bodies.mjs";
import { runChaos } from "./chaos.mjs";
import { Driver } from "./driver.mjs";
import { runMatrix } from "./matrix.mjs";
import { runRetries } from "./retries.mjs";
import { startAimock, startBridge, startPortkey } from "./servers.mjs";

class Report {
  passed = 0;
  failed = 0;
  print(text = "") {
    console.log(text);
  }
  // `fault` is null if the check passed.
  check(name, fault) {
    if (fault === null) {
      ++this.passed;
    } else {
      ++this.failed;
      console.log(`  FAILED ${name}: ${fault}`);
    }
  }
}

async function startServers() {
  const aimock = await startAimock("aimock");
  const [chat, responses, anthropic, portkey] = await Promise.all([
    startBridge("chat", aimock), startBridge("responses", aimock), startBridge("anthropic", aimock), startPortkey(),
  ]);
  return { aimock, bridges: { chat, responses, anthropic }, portkey };
}

const parts = {
  matrix: { title: "Provider and server by feature", run: runMatrix },
  chaos: { title: "Bad connections and failing servers", run: runChaos },
  bodies: { title: "The same conversation by the official client and by allm", run: runBodies },
  retries: { title: "Single calls when half of the connections break", run: runRetries },
};

async function main([program, ...chosen]) {
  const report = new Report();
  const driver = new Driver(program);
  process.on("exit", () => driver.stop());
  const servers = await startServers();
  for (const [name, part] of Object.entries(parts)) {
    if (chosen.length && !chosen.includes(name)) continue;
    const start = Date.now();
    report.print(`\n${part.title}\n`);
    await part.run(driver, servers, report);
    report.print(`\n(${((Date.now() - start) / 1000).toFixed(1)} s)`);
  }
  report.check("the end of the driver", await driver.end());
  report.print(`\n${report.passed} passed, ${report.failed} failed`);
  return report.failed ? 1 : 0;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));
process.exit(await main(process.argv.slice(2)));
