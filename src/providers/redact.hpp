// Secrets taken out of text before it becomes part of an error or is written down. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "allm/error.hpp"

namespace allm {

// The text with everything that looks like a key of any known provider replaced by "[REDACTED]", and so every
// occurrence of `provider_key`. Keys of less than eight characters ("none", "ollama") are placeholders and stay.
// Linear in the length of the text. What is redacted already stays as it is.
std::string redact(std::string_view text, std::string_view provider_key = {});

// The same for a text in pieces, in place. The mark stands in the piece where a secret begins; what is left of the
// secret in the next pieces is gone.
void redact_pieces(std::span<std::string* const> pieces, std::string_view provider_key = {});

// The error without the key, and without any part of it of more than four characters, in its message, its metadata and
// the ids it carries. The word that a key begins with ("sk-proj-") is no secret. The same error if there is nothing.
Error without_key(const Error& error, std::string_view key);

}  // namespace allm
