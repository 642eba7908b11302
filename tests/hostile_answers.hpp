// Invalid answers of a server, for tests with a direct connection and through a proxy.
#pragma once

#include <string>

#include "tests/chat_server.hpp"

namespace allm::testing {

inline void repeat_key(const ServedRequest&, Reply& reply) {
  reply.send(401, "application/json",
             std::string(R"({"error":{"message":"Incorrect API key provided: )") + chat_key() + R"("}})");
}

inline void answer_html(const ServedRequest&, Reply& reply) { reply.send(200, "text/html", "<html>hello</html>"); }

inline void redirect(const ServedRequest&, Reply& reply) {
  reply.send(302, "text/plain", "", {{"Location", "https://elsewhere.test/"}});
}

inline void send_headers_without_end(const ServedRequest&, Reply& reply) {
  reply.write("HTTP/1.1 200 OK\r\n");
  while (!reply.gone()) reply.write("X-More: " + std::string(1000, 'x') + "\r\n");
}

inline void answer_without_http(const ServedRequest&, Reply& reply) {
  reply.write("hello\r\n\r\n");
  reply.cut();
}

inline void garble_utf8(const ServedRequest&, Reply& reply) {
  send_stream(reply, "data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\"}}]}\n\n");
}

inline void answer_nothing(const ServedRequest&, Reply& reply) { reply.send(200, kStream, ""); }

}  // namespace allm::testing
