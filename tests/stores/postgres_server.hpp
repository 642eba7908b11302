// A real PostgreSQL server for tests, in a temporary folder, reached through a Unix socket. Needs the package
// `postgresql` (scripts/setup.sh installs it).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace allm::testing {

// One server process with its data. The functions block, and one thread at a time may call them. They throw
// std::runtime_error with the reason if the server cannot be started. The server is killed when the thread that started
// it ends, so that a killed test leaves no server behind.
class PostgresServer {
 public:
  enum class Stop : std::uint8_t {
    immediate,  // as after a crash: running transactions are lost, and the next start recovers
    fast,       // running transactions are rolled back
  };
  struct Options {
    // Whether commits reach the disk. Off is much faster, and survives an immediate stop as well, because the operating
    // system keeps running.
    bool fsync = false;
    int max_connections = 200;
  };

  PostgresServer() : PostgresServer(Options{}) {}
  explicit PostgresServer(Options options);  // creates the data and starts the server; this takes some seconds
  ~PostgresServer();                         // stops the server and removes its data
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  void start();
  void stop(Stop how = Stop::immediate);
  void restart(Stop how = Stop::immediate);

  // For open_store. The database exists already.
  std::string url(std::string_view database = "postgres") const;
  // Creates an empty database and returns its URL.
  std::string new_database();
  // The Unix socket on which the server listens, for a proxy.
  std::filesystem::path socket() const;
  // The folder of the socket, of the data (`data`) and of the server's log (`log`).
  const std::filesystem::path& folder() const { return folder_; }

 private:
  Options options_;
  std::filesystem::path folder_;
  pid_t process_ = -1;
  int databases_ = 0;
};

// The server that all tests of an executable share, started by the first call. Call it on the main thread first.
PostgresServer& shared_postgres();

// Runs one SQL command and returns the first value of its result ("" if there is none). Throws std::runtime_error.
std::string run_sql(const std::string& url, const std::string& sql);

}  // namespace allm::testing
