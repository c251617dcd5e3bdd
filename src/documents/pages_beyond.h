#pragma once

#include <cstdint>
#include <string>

#include "documents/page_ranges.h"

namespace longhaul {

/// Warns about selected pages after the last one of the document `name`, which has `count` pages.
/// An open range such as "12-" selects no such page if the document has its first page.
void warn_pages_beyond(const PageRanges& chosen, int64_t count, const std::string& name);

}  // namespace longhaul
