// Redacts secrets in text that becomes part of an error or a file. Pure; safe to call from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "allm/error.hpp"

namespace allm {

// Replaces everything that looks like a key of a known provider, and every occurrence of `provider_key`, by
// "[REDACTED]". A `provider_key` of less than eight characters ("none", "ollama") is a placeholder and stays. Linear in
// the length of the text. Redacting a second time changes nothing.
std::string redact(std::string_view text, std::string_view provider_key = {});

// The same for a text in pieces, in place. "[REDACTED]" is put into the piece where the secret begins; the rest of the
// secret is removed from the following pieces.
void redact_pieces(std::span<std::string* const> pieces, std::string_view provider_key = {});

// The error with the key, and every part of it of more than four characters, redacted in its message, metadata and ids.
// The prefix of a key ("sk-proj-") is not secret. Returns the same error if it does not contain the key.
Error without_key(const Error& error, std::string_view key);
// The same for the value of a header. Parts of it are redacted only if it is long and contains digits: the name of a
// deployment is not a key, and its parts are ordinary words.
Error without_value(const Error& error, std::string_view value);

}  // namespace allm
