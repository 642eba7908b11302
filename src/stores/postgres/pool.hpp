// The connections of a store, and the rule for statements whose connection is lost.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "stores/postgres/connection.hpp"

namespace allm::postgres {

// Whether a statement is planned for the values of each execution, because the best plan depends on them.
enum class Plan : std::uint8_t { kept, by_values };

// Opens connections when they are needed, up to Address::max_connections; further threads wait for a free one. Safe to
// call from any thread.
class Pool {
 public:
  // `first` is an open connection to `address`.
  Pool(Address address, Connection first) : address_(std::move(address)), open_(1) {
    free_.push_back(std::move(first));
  }

  // Runs one statement on a free connection. If the server cannot be reached, this is tried again until
  // Address::retry_time is over.
  //
  // If the connection is lost while the statement runs, it is unknown whether it was executed. Then it is run again
  // with the arguments `again`, or fails with `unavailable` if `again` is null. So `again` is the arguments themselves
  // if running the statement twice has the effect of running it once.
  Result<Rows> run(const std::string& sql, const Arguments& arguments, const Arguments* again, Plan plan = Plan::kept);
  // For statements without effect, or with the same effect if they are run twice.
  Result<Rows> run_repeatable(const std::string& sql, const Arguments& arguments, Plan plan = Plan::kept) {
    return run(sql, arguments, &arguments, plan);
  }
  Result<Rows> run_once(const std::string& sql, const Arguments& arguments) { return run(sql, arguments, nullptr); }

  const Address& address() const { return address_; }

 private:
  std::expected<Connection, Failure> borrow();
  void give_back(std::optional<Connection> connection);

  const Address address_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<Connection> free_;
  std::size_t open_;  // free, in use or being opened
};

}  // namespace allm::postgres
