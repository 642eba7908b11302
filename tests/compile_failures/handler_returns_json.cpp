// expects: a handler is a const callable of one of four forms
#include "allm/tool.hpp"

const allm::Tool wrong{.name = "t", .handler = [](const allm::Json& arguments) { return arguments; }};
