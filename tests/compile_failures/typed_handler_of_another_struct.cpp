// expects: a typed handler is a const callable of one of four forms
#include "allm/typed_tool.hpp"

struct Sum {
  int a = 0;
  static allm::Fields<Sum> describe() { return {allm::field("a", &Sum::a)}; }
};

const allm::Tool wrong = allm::tool<Sum>({.name = "t", .handler = [](const allm::Json&) { return allm::ok(1); }});
