// The benchmark server, in a process of its own, so that the CPU time of this process is that of the client alone.
#pragma once

#include <string>
#include <sys/types.h>

namespace allm::bench {

struct ServerUrls {
  std::string plain = {};
  std::string tls = {};
  std::string http2 = {};  // through nghttpx; "" if that is not installed
  std::string tls_ca = {};
  std::string http2_ca = {};
};

class ServerProcess {
 public:
  // Forks, so no thread may have been started before. Throws if the server does not start.
  ServerProcess();
  ~ServerProcess();  // ends the process and waits for it
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  const ServerUrls& urls() const { return urls_; }

 private:
  pid_t process_ = -1;
  int stop_ = -1;  // closing it stops the server
  ServerUrls urls_;
};

}  // namespace allm::bench
