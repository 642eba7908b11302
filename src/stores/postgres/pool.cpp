#include "stores/postgres/pool.hpp"

#include <algorithm>
#include <thread>

namespace allm::postgres {
namespace {

using namespace std::chrono_literals;

// Whether to try again, and with which arguments.
const Arguments* next_arguments(const Failure& failure, const Arguments* sent, const Arguments* again) {
  switch (failure.kind) {
    case Failure::Kind::refused:
      return nullptr;
    case Failure::Kind::rolled_back:
    case Failure::Kind::unreachable:
      return sent;
    case Failure::Kind::lost:
      return again;
  }
  return nullptr;
}

}  // namespace

std::expected<Connection, Failure> Pool::borrow() {
  std::unique_lock lock(mutex_);
  while (true) {
    returned_.wait(lock, [this] { return !free_.empty() || open_ < address_.max_connections; });
    if (free_.empty()) break;
    // The one that was used last is the most likely to be open.
    Connection connection = std::move(free_.back());
    free_.pop_back();
    if (connection.is_open()) return connection;
    --open_;
  }
  ++open_;
  lock.unlock();
  std::expected<Connection, Failure> connection = Connection::open(address_);
  if (!connection) give_back(std::nullopt);
  return connection;
}

void Pool::give_back(std::optional<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    if (connection) {
      free_.push_back(*std::move(connection));
    } else {
      --open_;
    }
  }
  returned_.notify_one();
}

Result<Rows> Pool::run(const std::string& sql, const Arguments& arguments, const Arguments* again, Plan plan) {
  const auto run_on = [&](Connection& connection, const Arguments& values) {
    return plan == Plan::kept ? connection.run_prepared(sql, values) : connection.run(sql, values);
  };
  const auto give_up = std::chrono::steady_clock::now() + address_.retry_time;
  const Arguments* next = &arguments;
  for (auto pause = 10ms;; pause = std::min(pause * 2, 500ms)) {
    std::expected<Connection, Failure> connection = borrow();
    std::expected<Rows, Failure> rows =
        connection ? run_on(*connection, *next) : std::unexpected(std::move(connection.error()));
    if (connection) {
      const bool lost = !rows && rows.error().kind == Failure::Kind::lost;
      give_back(lost ? std::nullopt : std::optional(*std::move(connection)));
    }
    if (rows) return *std::move(rows);
    next = next_arguments(rows.error(), next, again);
    if (next == nullptr || std::chrono::steady_clock::now() + pause > give_up) {
      return std::unexpected(std::move(rows.error().error));
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace allm::postgres
