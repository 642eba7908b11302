// Calls models with allm, through tests/foreign/driver.cpp.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

// A call that takes longer than this hangs: every time limit of a call is shorter.
const hangSeconds = 30;

export class Driver {
  #program;
  #process = null;
  #waiting = new Map();
  #nextId = 1;

  constructor(program) {
    this.#program = program;
  }

  // The answer of the driver (README.md), or {fault: "hang" | "crash: …"} if there is none.
  run(job) {
    if (!this.#process) this.#start();
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(id, { fault: "hang" }), hangSeconds * 1000);
      this.#waiting.set(id, { resolve, timer });
      this.#process.stdin.write(JSON.stringify({ ...job, id }) + "\n");
    });
  }

  // Lets the driver end by itself. Returns what went wrong, or null.
  end() {
    const child = this.#process;
    if (!child) return Promise.resolve("the driver has crashed");
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve("the driver does not end"), hangSeconds * 1000);
      child.on("close", (code, signal) => {
        clearTimeout(timer);
        resolve(code === 0 ? null : `the driver ended with ${signal ?? code}`);
      });
      child.stdin.end();
    });
  }

  stop() {
    if (this.#process) this.#process.kill("SIGKILL");
  }

  #start() {
    // Proxies of the environment and keys of the developer must not take part.
    const environment = { PATH: process.env.PATH, LANG: "C.UTF-8" };
    const child = spawn(this.#program, [], { env: environment, stdio: ["pipe", "pipe", "inherit"] });
    this.#process = child;
    child.stdin.on("error", () => {});
    createInterface({ input: child.stdout }).on("line", (line) => {
      const answer = JSON.parse(line);
      this.#settle(answer.id, answer);
    });
    child.on("close", (code, signal) => {
      if (this.#process === child) this.#process = null;
      for (const id of [...this.#waiting.keys()]) this.#settle(id, { fault: `crash: ${signal ?? code}` });
    });
  }

  #settle(id, answer) {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    waiting.resolve(answer);
  }
}
