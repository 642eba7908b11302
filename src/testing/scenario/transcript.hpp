// Transcripts: one exchange with a provider as data, and what must come of it. The files and their members are
// described in docs/transcript-format.md.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "allm/json.hpp"

namespace allm {

// Decodes the response whole, in random splits and byte by byte, and compares the events and the folded response with
// `expect`, and the request that would follow with `next_request`. What does not match, one line each; empty if all
// does. `folder` is where the file lies that `body_file` names. Fails with ValidationError `invalid_scenario` if the
// document is no transcript. Blocks; any thread.
Result<std::vector<std::string>> check_transcript(const Json& transcript, const std::filesystem::path& folder);

}  // namespace allm
