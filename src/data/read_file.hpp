// Reads whole files. Blocks while it reads. Safe to call from any thread.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

namespace allm {

// The bytes of a regular file, or an errno: EISDIR for a folder, EINVAL for a pipe or a device, EFBIG for a file of
// more than `max_bytes`.
std::expected<std::string, int> read_file(const std::string& path, std::size_t max_bytes);

// "enoent", for field errors.
std::string errno_word(int code);
// "No such file or directory", for messages.
std::string errno_text(int code);

}  // namespace allm
