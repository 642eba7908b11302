// Transcripts: one exchange with a provider as data, with the expected events and response. docs/transcript-format.md
// describes the files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "allm/json.hpp"

namespace allm {

// Decodes the response as a whole, in random pieces and byte by byte. Compares the events and the folded response with
// `expect`, and the request that would follow with `next_request`. Returns the mismatches, one line each; empty if
// everything matches. `folder` contains the file that `body_file` names. Fails with ValidationError `invalid_scenario`
// if the document is not a transcript. Blocks; safe to call from any thread.
Result<std::vector<std::string>> check_transcript(const Json& transcript, const std::filesystem::path& folder);

}  // namespace allm
