// Keeps simdjson usable while the program exits.
//
// simdjson has a static object for each instruction set and calls its virtual functions to make parsers and to check
// UTF-8. exit() destroys these objects, while other threads may still parse. So allm makes its own object of the same
// class, which is never destroyed, and sets it as simdjson's active one.
#pragma once

#include <string>

#include <simdjson.h>

#include "data/immortal.hpp"

// Which of these classes exist depends on the processor and on the version of simdjson.
namespace simdjson {
namespace arm64 {
class implementation;
}
namespace ppc64 {
class implementation;
}
namespace icelake {
class implementation;
}
namespace haswell {
class implementation;
}
namespace westmere {
class implementation;
}
namespace fallback {
class implementation;
}
}  // namespace simdjson

namespace allm {

template <class Implementation>
bool use_lasting(const std::string& /*name*/, const char* /*wanted*/) {
  return false;
}
template <class Implementation>
  requires requires { sizeof(Implementation); }
bool use_lasting(const std::string& name, const char* wanted) {
  if (name != wanted) return false;
  simdjson::get_active_implementation() = &immortal<Implementation>();
  return true;
}

// Returns false if this version of simdjson does not show its classes; parsing at exit is not safe then.
inline bool keep_simdjson() {
  const std::string name = simdjson::get_active_implementation()->name();
  return use_lasting<simdjson::icelake::implementation>(name, "icelake") ||
         use_lasting<simdjson::haswell::implementation>(name, "haswell") ||
         use_lasting<simdjson::westmere::implementation>(name, "westmere") ||
         use_lasting<simdjson::arm64::implementation>(name, "arm64") ||
         use_lasting<simdjson::ppc64::implementation>(name, "ppc64") ||
         use_lasting<simdjson::fallback::implementation>(name, "fallback");
}

}  // namespace allm
