// The content of a tool message whose tool answered with parts. Pure; any thread.
#pragma once

#include <vector>

#include "allm/message.hpp"

namespace allm {

// The parts, or one text of them joined by newlines if there is no image, document or audio among them. Fails with
// ValidationError `invalid_message` if a message cannot have such parts.
Result<Content> content_of_parts(std::vector<Part> parts);

}  // namespace allm
