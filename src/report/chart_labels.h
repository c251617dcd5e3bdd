#pragma once
// Names of methods where a picture has little room.

#include <cstddef>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// A name for each of the series, of at most `most` characters, no two of them alike: where labels
/// would be when they are cut, what is left are the options by which these differ, and in the end a
/// number.
std::vector<std::string> chart_labels(const Results& results, size_t most);

}  // namespace longhaul
