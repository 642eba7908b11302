// A TCP proxy that disturbs each connection in a way chosen at random: in the handshake, before, in or after an answer.
import { connect, createServer } from "node:net";
import { pickWeighted } from "./random.mjs";

const faults = {
  none: 20,
  pieces: 20,  // a few bytes at a time
  late: 5,  // the answer begins late
  refuse: 8,  // reset at once
  swallow: 8,  // the request is read, then the connection ends
  end: 14,  // the connection is closed within the answer
  reset: 14,  // the connection is reset within the answer
  stall: 4,  // the answer stops, the connection stays open
  html: 7,  // an error page of some other proxy
};

const page = "<!doctype html>\n<title>502 Bad Gateway</title><h1>502 Bad Gateway</h1>\n";
const badGateway = "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nConnection: close\r\n" +
  `Content-Length: ${page.length}\r\n\r\n${page}`;

const quiet = (socket) => socket.on("error", () => {});

// Writes the bytes in pieces of up to 40, each in a turn of its own.
async function writeInPieces(socket, bytes, next) {
  socket.setNoDelay(true);
  for (let at = 0; at < bytes.length && !socket.destroyed;) {
    const size = 1 + Math.floor(next() * 40);
    socket.write(bytes.subarray(at, at + size));
    at += size;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

// Passes on `limit` bytes of the answer, then calls `then`.
function passUntil(server, client, limit, then) {
  let left = limit;
  server.on("data", (bytes) => {
    if (left <= 0) return;
    client.write(bytes.subarray(0, left));
    left -= bytes.length;
    if (left <= 0) then();
  });
}

function disturb(fault, client, server, next) {
  const limit = Math.floor(next() ** 2 * 6000);
  const actions = {
    none: () => server.pipe(client),
    pieces: async () => {
      for await (const bytes of server) await writeInPieces(client, bytes, next);
      client.end();
    },
    late: () => setTimeout(() => server.pipe(client), Math.floor(next() * 60)),
    end: () => passUntil(server, client, limit, () => client.end()),
    reset: () => passUntil(server, client, limit, () => client.resetAndDestroy()),
    stall: () => passUntil(server, client, limit, () => {}),
  };
  return actions[fault]();
}

function accept(client, port, next) {
  quiet(client);
  const fault = pickWeighted(next, faults);
  if (fault === "refuse") return client.resetAndDestroy();
  if (fault === "swallow") return client.once("data", () => client.end());
  if (fault === "html") return client.once("data", () => client.end(badGateway));
  const server = connect(port, "127.0.0.1");
  quiet(server);
  client.pipe(server);
  client.on("close", () => server.destroy());
  server.on("close", () => (fault === "stall" ? null : client.end()));
  Promise.resolve(disturb(fault, client, server, next)).catch(() => client.destroy());
}

// The URL of a proxy in front of the server at `url`.
export function startChaosProxy(url, next) {
  const port = Number(new URL(url).port);
  return new Promise((resolve) => {
    const proxy = createServer((client) => accept(client, port, next));
    proxy.listen(0, "127.0.0.1", () => {
      proxy.unref();
      resolve({ url: `http://127.0.0.1:${proxy.address().port}`, close: () => proxy.close() });
    });
  });
}
