// 1,000 chats at once behind a socket. One thread serves them all; no thread waits for the model.
#include <iostream>
#include <sys/resource.h>
#include <utility>

#include <boost/asio.hpp>

#include "allm/allm.hpp"
#include "allm/asio.hpp"
#include "allm/testing.hpp"
using boost::asio::ip::tcp;
struct Chat {
  tcp::socket socket;
  allm::ChatStream stream;
  std::string text = {};
};
void next(const std::shared_ptr<Chat>& chat) {
  allm::asio::async_next(chat->stream, chat->socket.get_executor(), [chat](allm::Poll event) {
    if (!event) return;  // the stream is at its end; the socket closes with the last copy of `chat`
    chat->text = event->tag() == allm::EventTag::text_delta ? event->get_if<allm::TextDelta>()->delta : "";
    boost::asio::async_write(chat->socket, boost::asio::buffer(chat->text), [chat](auto, auto) { next(chat); });
  });
}
void serve(tcp::acceptor& acceptor, const allm::Engine& engine) {
  acceptor.async_accept([&acceptor, engine](boost::system::error_code error, tcp::socket socket) {
    if (!error) next(std::make_shared<Chat>(std::move(socket), allm::stream(engine, {allm::user("Hello!")})));
    if (!error) serve(acceptor, engine);
  });
}
int main() {
  if (const rlimit files = {4096, 4096}; setrlimit(RLIMIT_NOFILE, &files) != 0) return 1;  // for 2,000 sockets
  boost::asio::thread_pool server(1);
  tcp::acceptor acceptor(server, {boost::asio::ip::address_v4::loopback(), 0});
  // A real model: serve(acceptor, allm::engine_for("openai:gpt-4.1-mini").value());
  serve(acceptor, allm::Engine({.adapter = allm::fake(allm::FakeScript(1000, {allm::fake_text("Good morning.\n")}))}));
  std::vector<tcp::iostream> clients(1000);
  for (tcp::iostream& client : clients) client.connect(acceptor.local_endpoint());
  for (tcp::iostream& client : clients) std::cout << client.rdbuf();
  return std::cout.good() ? 0 : 1;  // not good if a client received nothing
}
