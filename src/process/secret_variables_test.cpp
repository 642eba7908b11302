#include "process/secret_variables.hpp"

#include <cstdlib>

#include <gmock/gmock.h>

namespace allm::secret_variables_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

TEST(SecretVariables, AreKnownByTheirNames) {
  for (const char* name :
       {"OPENAI_API_KEY", "openai_api_key", "MY_APIKEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN",
        "HF_TOKEN", "CI_JOB_TOKEN_2", "CLIENT_SECRET", "PGPASSWORD", "DB_PASS", "MYSQL_PWD", "REDISCLI_AUTH",
        "GOOGLE_APPLICATION_CREDENTIALS", "KEY", "GITLAB_PAT", "SSH_KEYS"}) {
    EXPECT_TRUE(is_secret_variable(name, "value")) << name;
  }
}

TEST(SecretVariables, AreKnownByTheirValues) {
  for (const char* value : {"sk-abc", "AIzaSy", "gsk_1", "xai-1", "Bearer x", "postgres://user:word@host/db",
                            "http://user:word@proxy:3128"}) {
    EXPECT_TRUE(is_secret_variable("PLAIN", value)) << value;
  }
}

TEST(SecretVariables, OrdinaryOnesAreNone) {
  for (const char* name :
       {"PATH", "HOME", "PWD", "OLDPWD", "LANG", "TZ", "TERM", "KEYBOARD_LAYOUT", "TOKENIZERS_PARALLELISM",
        "SSH_AUTH_SOCK", "LD_LIBRARY_PATH", "AUTHOR", "ALLM_HELPER", "XAUTHORITY", "PASSAGE", ""}) {
    EXPECT_FALSE(is_secret_variable(name, "/usr/bin:/bin")) << name;
  }
  for (const char* value : {"http://proxy:3128", "https://host/a:b@c", "git@host:path", "", "task-1", "://"}) {
    EXPECT_FALSE(is_secret_variable("PLAIN", value)) << value;
  }
}

TEST(SecretVariables, AreNotInherited) {
  setenv("ALLM_TEST_API_KEY", "value", 1);
  setenv("ALLM_TEST_NAME", "value", 1);
  EXPECT_THAT(environment_without_secrets(), Contains("ALLM_TEST_NAME=value"));
  EXPECT_THAT(environment_without_secrets(), Not(Contains("ALLM_TEST_API_KEY=value")));
  EXPECT_THAT(named_variables({"ALLM_TEST_API_KEY", "ALLM_TEST_MISSING"}), ElementsAre("ALLM_TEST_API_KEY=value"));
  unsetenv("ALLM_TEST_API_KEY");
  unsetenv("ALLM_TEST_NAME");
}

}  // namespace
}  // namespace allm::secret_variables_test
