#pragma once
// Names of methods where a picture has little room.

#include <cstddef>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// A name for each of the series, of at most `most` characters, no two of them alike. Labels that
/// would be alike once they are cut to that length are shortened to the options in which they
/// differ; if that is not enough, they are numbered.
std::vector<std::string> chart_labels(const Results& results, size_t most);

}  // namespace longhaul
