#include "tests/kill/effects.hpp"

#include <fcntl.h>
#include <fstream>
#include <unistd.h>

#include "allm/json.hpp"

#include "tests/kill/life.hpp"

namespace allm::kill_matrix {

void note_effect(const std::string& file, const Effect& effect) {
  const Json json = {{"what", effect.what}, {"life", effect.life}, {"subject", effect.subject}, {"key", effect.key}};
  const std::string line = json.dump() + "\n";
  // One write in append mode, so that lines of several processes do not mix.
  const int fd = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(kFailed);
  close(fd);
}

std::vector<Effect> read_effects(const std::string& file) {
  std::vector<Effect> effects;
  std::ifstream input(file);
  for (std::string line; std::getline(input, line);) {
    const Json json = Json::parse(line);
    effects.push_back({json["what"].get<std::string>(), json["life"].get<int>(), json["subject"].get<std::string>(),
                       json["key"].get<std::string>()});
  }
  return effects;
}

}  // namespace allm::kill_matrix
