// The content of a tool message whose tool answered with parts. Pure; safe to call from any thread.
#pragma once

#include <vector>

#include "allm/message.hpp"

namespace allm {

// The parts, or one text joined by newlines if all parts are text. Fails with ValidationError `invalid_message` if a
// message cannot contain a part.
Result<Content> content_of_parts(std::vector<Part> parts);

}  // namespace allm
