#include "text/number_lines.h"

#include <gtest/gtest.h>

#include <array>

#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;

TEST(NumberLines, AFileThatIsTooLargeIsNamedAndNotRead) {
  const testing_support::TempFolder folder;
  const std::filesystem::path path = folder.write("gates.tsv", "1\t2\n");
  constexpr std::array<int, 1> kColumns = {2};
  const NumberLines words = {"gate", "layer", "heads"};
  EXPECT_EQ(read_number_lines(path, kColumns, words)[0][1], 2);
  std::filesystem::resize_file(path, uintmax_t{3} << 30);  // sparse file
  EXPECT_TRUE(has(error_of([&] { read_number_lines(path, kColumns, words); }),
                  {"gates.tsv: 3221225472 bytes", "up to 16777216"}));
}

}  // namespace
}  // namespace longhaul
