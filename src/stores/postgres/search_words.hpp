// The words of a text, for PostgreSQL's full-text index.
#pragma once

#include <string>
#include <string_view>

namespace allm::postgres {

// The different words of the text in lower case, with spaces between them. A word is a sequence of letters and digits;
// everything else in ASCII separates words, so that the parts of addresses and file names are words of their own. At
// most 200,000 bytes, because an entry of the index has a maximum size.
std::string search_words(std::string_view text);

}  // namespace allm::postgres
