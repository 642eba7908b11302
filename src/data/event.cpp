#include "allm/event.hpp"

#include "data/names.hpp"

namespace allm {

std::string_view to_string(Mode mode) { return enum_name(mode); }
std::string_view to_string(EventTag tag) { return enum_name(tag); }

}  // namespace allm
