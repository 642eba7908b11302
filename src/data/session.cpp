#include "allm/session.hpp"

#include "data/names.hpp"

namespace allm {

std::string_view to_string(SessionStatus status) { return enum_name(status); }

}  // namespace allm
