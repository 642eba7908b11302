// 1,000 chats at once behind a socket. One thread serves them all; none waits for the model.
#include <iostream>

#include <boost/asio.hpp>

#include "allm/allm.hpp"
#include "allm/asio.hpp"
#include "allm/testing.hpp"

using boost::asio::ip::tcp;

struct Chat : std::enable_shared_from_this<Chat> {  // writes the answer
  Chat(tcp::socket connection, allm::ChatStream events) : socket(std::move(connection)), stream(std::move(events)) {}
  void next() {
    allm::asio::async_next(stream, socket.get_executor(), [self = shared_from_this()](allm::Poll event) {
      if (!event) return;  // the end: the connection closes
      self->text = event->tag() == allm::EventTag::text_delta ? event->get_if<allm::TextDelta>()->delta : "";
      boost::asio::async_write(self->socket, boost::asio::buffer(self->text), [self](auto, auto) { self->next(); });
    });
  }
  tcp::socket socket;
  allm::ChatStream stream;
  std::string text;
};

void serve(tcp::acceptor& acceptor, const allm::Engine& engine) {
  acceptor.async_accept([&acceptor, engine](boost::system::error_code error, tcp::socket socket) {
    if (!error) std::make_shared<Chat>(std::move(socket), allm::stream(engine, {allm::user("Hello!")}))->next();
    if (!error) serve(acceptor, engine);
  });
}

int main() {
  boost::asio::thread_pool server(1);
  tcp::acceptor acceptor(server, {boost::asio::ip::address_v4::loopback(), 0});
  serve(acceptor, allm::Engine({.adapter = allm::fake(allm::FakeScript(1000, {allm::fake_text("Good morning.\n")}))}));
  std::vector<tcp::iostream> clients(1000);
  for (tcp::iostream& client : clients) client.connect(acceptor.local_endpoint());
  for (tcp::iostream& client : clients) std::cout << client.rdbuf();
}
