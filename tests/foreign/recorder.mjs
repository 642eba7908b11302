// An HTTP server that records each request and passes it on to another server.
import { createServer, request } from "node:http";

async function bytesOf(stream) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

// {url, take(), close()}: take() returns and forgets the requests so far, each {method, path, headers, body}.
export function startRecorder(upstream) {
  let recorded = [];
  const server = createServer(async (incoming, outgoing) => {
    const body = await bytesOf(incoming);
    const { method, url: path, headers } = incoming;
    recorded.push({ method, path, headers, body: JSON.parse(body.toString()) });
    const sent = request(upstream + path, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    sent.on("error", () => outgoing.destroy());
    sent.end(body);
  });
  return new Promise((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve({
      url: `http://127.0.0.1:${server.address().port}`,
      take: () => recorded.splice(0),
      close: () => server.close(),
    }));
  });
}
