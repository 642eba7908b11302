// Argument and environment lists in the form that exec takes.
#pragma once

#include <string>
#include <unistd.h>
#include <vector>

namespace allm {

// Pointers to the texts and a null after the last one. The texts must outlive the pointers.
inline std::vector<char*> exec_pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// This process's own environment, "NAME=value" each.
inline std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
  return environment;
}

}  // namespace allm
