#include "tests/stores/postgres_server.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <libpq-fe.h>
#include <memory>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace allm::testing {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

// The newest installed version; /usr/lib/postgresql/15/bin, for example.
fs::path server_programs() {
  std::vector<std::pair<int, fs::path>> found;
  std::error_code error;
  for (const fs::directory_entry& version : fs::directory_iterator("/usr/lib/postgresql", error)) {
    const fs::path programs = version.path() / "bin";
    if (fs::exists(programs / "initdb")) found.emplace_back(std::atoi(version.path().filename().c_str()), programs);
  }
  if (found.empty()) {
    throw std::runtime_error("this test needs a PostgreSQL server: install the package postgresql (scripts/setup.sh)");
  }
  return std::ranges::max(found).second;
}

// The server refuses to run as root, so root runs it as the user nobody.
std::vector<std::string> unprivileged(std::vector<std::string> command) {
  std::vector<std::string> whole = {"/usr/bin/setpriv", "--pdeathsig", "QUIT"};
  if (::geteuid() == 0) {
    const std::string nobody = std::to_string(kNobody);
    whole.insert(whole.end(), {"--reuid=" + nobody, "--regid=" + nobody, "--clear-groups"});
  }
  whole.insert(whole.end(), command.begin(), command.end());
  return whole;
}

// Starts a program whose output goes to `log`.
pid_t start_program(const std::vector<std::string>& command, const fs::path& log) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::string locale = "LC_ALL=C.UTF-8";
  std::string path = "PATH=/usr/bin:/bin";
  char* const environment[] = {locale.data(), path.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t process = -1;
  const int code = ::posix_spawn(&process, argv[0], &actions, nullptr, argv.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) throw std::runtime_error("cannot start " + command[0] + ": error " + std::to_string(code));
  return process;
}

int wait_for_exit(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string percent_encoded(const std::string& path) {
  std::string encoded;
  for (const char letter : path) letter == '/' ? encoded += "%2F" : encoded += letter;
  return encoded;
}

}  // namespace

PostgresServer::PostgresServer(Options options) : options_(options) {
  const fs::path programs = server_programs();
  std::string name = (fs::temp_directory_path() / "allm-postgres-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create the folder " + name);
  folder_ = name;
  if (::geteuid() == 0 && ::chown(folder_.c_str(), kNobody, kNobody) != 0) {
    throw std::runtime_error("cannot give the folder " + name + " to the user nobody");
  }
  const pid_t initdb =
      start_program(unprivileged({programs / "initdb", "-D", folder_ / "data", "-U", "allm", "--auth=trust",
                                  "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions"}),
                    folder_ / "log");
  if (wait_for_exit(initdb) != 0) throw std::runtime_error("initdb failed:\n" + text_of(folder_ / "log"));
  start();
}

PostgresServer::~PostgresServer() {
  stop();
  std::error_code error;
  fs::remove_all(folder_, error);
}

void PostgresServer::start() {
  if (process_ > 0) return;
  process_ = start_program(
      unprivileged({server_programs() / "postgres", "-D", folder_ / "data", "-k", folder_, "-c",
                    "listen_addresses=", "-c", options_.fsync ? "fsync=on" : "fsync=off", "-c",
                    "max_connections=" + std::to_string(options_.max_connections), "-c", "shared_buffers=32MB", "-c",
                    "dynamic_shared_memory_type=mmap", "-c", "max_worker_processes=2"}),
      folder_ / "log");
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (::PQping(url().c_str()) != PQPING_OK) {
    const bool ended = ::waitpid(process_, nullptr, WNOHANG) == process_;
    if (ended) process_ = -1;
    if (ended || std::chrono::steady_clock::now() > give_up) {
      throw std::runtime_error("the PostgreSQL server does not start:\n" + text_of(folder_ / "log"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void PostgresServer::stop(Stop how) {
  if (process_ <= 0) return;
  ::kill(process_, how == Stop::immediate ? SIGQUIT : SIGINT);
  wait_for_exit(std::exchange(process_, -1));
}

void PostgresServer::restart(Stop how) {
  stop(how);
  start();
}

std::string PostgresServer::url(std::string_view database) const {
  return "postgresql://allm@" + percent_encoded(folder_.string()) + "/" + std::string(database);
}

std::string PostgresServer::new_database() {
  const std::string name = "test" + std::to_string(++databases_);
  run_sql(url(), "CREATE DATABASE " + name);
  return url(name);
}

std::filesystem::path PostgresServer::socket() const { return folder_ / ".s.PGSQL.5432"; }

PostgresServer& shared_postgres() {
  static PostgresServer server;
  return server;
}

std::string run_sql(const std::string& url, const std::string& sql) {
  const std::unique_ptr<PGconn, decltype(&::PQfinish)> connection(::PQconnectdb(url.c_str()), &::PQfinish);
  const std::unique_ptr<PGresult, decltype(&::PQclear)> result(::PQexec(connection.get(), sql.c_str()), &::PQclear);
  const ExecStatusType status = ::PQresultStatus(result.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    throw std::runtime_error("SQL failed: " + std::string(::PQerrorMessage(connection.get())));
  }
  if (::PQntuples(result.get()) == 0 || ::PQnfields(result.get()) == 0) return {};
  return {::PQgetvalue(result.get(), 0, 0), static_cast<std::size_t>(::PQgetlength(result.get(), 0, 0))};
}

}  // namespace allm::testing
