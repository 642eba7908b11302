#include "stores/postgres/address.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "stores/postgres/postgres_store.hpp"
#include "tests/stores/postgres_server.hpp"

namespace allm::testing::postgres_address_test {
namespace {

using Reason = StoreError::Reason;

std::string parameter(const postgres::Address& address, const std::string& name) {
  const auto found = std::ranges::find(address.parameters, name, [](const auto& entry) { return entry.first; });
  return found == address.parameters.end() ? "" : found->second;
}

TEST(PostgresAddress, OwnParametersAreTakenOutOfTheUrl) {
  const auto address = postgres::parse_address(
      "postgresql://me:pass%40word@host:99/"
      "db?sslmode=verify-full&allm_connections=3&allm_retry_ms=250&options=-cjit%3Doff");
  ASSERT_TRUE(address) << address.error().message();
  EXPECT_EQ(address->max_connections, 3U);
  EXPECT_EQ(address->retry_time, std::chrono::milliseconds(250));
  EXPECT_EQ(parameter(*address, "host"), "host");
  EXPECT_EQ(parameter(*address, "port"), "99");
  EXPECT_EQ(parameter(*address, "sslmode"), "verify-full");
  EXPECT_EQ(parameter(*address, "options"), "-cjit=off");
  EXPECT_EQ(parameter(*address, "password"), "pass@word");
  EXPECT_EQ(address->secrets, std::vector<std::string>{"pass@word"});
}

TEST(PostgresAddress, APasswordMayHaveAQuestionMark) {
  const auto address = postgres::parse_address("postgresql://me:a?b=c@host/db?allm_retry_ms=250");
  ASSERT_TRUE(address) << address.error().message();
  EXPECT_EQ(parameter(*address, "password"), "a?b=c");
  EXPECT_EQ(address->retry_time, std::chrono::milliseconds(250));
}

TEST(PostgresAddress, AUrlThatCannotBeReadIsRefusedWithoutItsText) {
  for (const std::string url :
       {"postgresql://me:hun@ter2@host/db", "postgresql://me:hun/ter2@host/db", "postgresql://me:hun%zzter2@host/db",
        "postgresql://me:hunter2@host/db?hunter2=1", "postgresql://me:hunter2@[::1/db",
        "postgresql://me:hunter2@host/db?allm_connections=0",
        "postgresql://me:hunter2@host/db?allm_connections=hunter2", "postgresql://me:hunter2@host/db?allm_retry_ms=-1",
        "postgresql://me:hunter2/x?hun=y@host/db"}) {
    const auto opened = open_store(url);
    ASSERT_FALSE(opened) << url;
    EXPECT_TRUE(opened.error().is<StoreError>(Reason::invalid_url)) << url;
    for (const char* part : {"hun", "ter2"}) {
      EXPECT_EQ(opened.error().message().find(part), std::string::npos) << opened.error().message();
    }
  }
}

TEST(PostgresAddress, SecretsAreRemovedFromMessages) {
  EXPECT_EQ(postgres::without_secrets("a hunter2 b hunter2", {"hunter2", "x"}), "a *** b ***");
  EXPECT_EQ(postgres::without_secrets("**", {"*"}), "******");
}

// libpq names the host, the database and the role in its messages. Here each of them equals the password.
TEST(PostgresAddress, NoErrorOfAConnectionContainsThePassword) {
  const std::string folder = shared_postgres().url();
  const std::string host = folder.substr(folder.find('@') + 1, folder.rfind('/') - folder.find('@') - 1);
  for (const std::string& url :
       {"postgresql://hunter2:hunter2@" + host + "/postgres", "postgresql://allm:hunter2@" + host + "/hunter2",
        std::string("postgresql://allm:hunter2@%2Fhunter2/x"), "postgresql://allm:hunter2@" + host + ":1/x"}) {
    const auto opened = open_store(url);
    ASSERT_FALSE(opened);
    EXPECT_TRUE(opened.error().is<StoreError>(Reason::unavailable)) << opened.error().message();
    EXPECT_EQ(opened.error().message().find("hunter2"), std::string::npos) << opened.error().message();
  }
}

TEST(PostgresAddress, APasswordOfTheEnvironmentIsNotInMessagesEither) {
  const std::string folder = shared_postgres().url();
  ASSERT_EQ(::setenv("PGPASSWORD", "hunter2", 1), 0);
  const auto opened = open_store(folder.substr(0, folder.rfind('/')) + "/hunter2");
  ::unsetenv("PGPASSWORD");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message().find("hunter2"), std::string::npos) << opened.error().message();
}

}  // namespace
}  // namespace allm::testing::postgres_address_test
