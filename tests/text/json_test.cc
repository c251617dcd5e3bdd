#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "format/temp_folder.h"
#include "text/json_file.h"
#include "text/json_text.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::TempFolder;

TEST(JsonText, SaysWhatIsWrongInOneLine) {
  EXPECT_EQ(parse_json(R"({"a": [1, 2]})", 8)["a"][1], 2);
  EXPECT_EQ(error_of([] { parse_json(R"({"a": )", 8); }), "is no JSON (byte 7)");
  EXPECT_EQ(error_of([] { parse_json("[[[1]]]", 2); }), "is nested deeper than 2");
  EXPECT_EQ(error_of([] { parse_json("[1e999]", 2); }), "has a number beyond f64");
  EXPECT_EQ(error_of([] { parse_json_object("[]", 8); }), "is no JSON object");
}

TEST(JsonText, CountsBracketsOutsideOfTextsOnly) {
  EXPECT_EQ(parse_json(R"(["[[[[", "\\", "\"[[{{", {"a[": 1}])", 2).size(), 4u);
  EXPECT_EQ(error_of([] { parse_json(R"(["\\", [[0]]])", 2); }), "is nested deeper than 2");
}

TEST(JsonText, ManySmallValuesAreRefusedBeforeTheyTakeMemory) {
  std::string text(16'000'001, ',');
  for (size_t i = 0; i < text.size(); i += 2) text[i] = '0';
  EXPECT_EQ(error_of([&] { parse_json("[" + text + "]", 2); }),
            "has 8000002 values; at most 8000000 are read");
}

TEST(JsonFile, NumbersOfPythonThatAreNotFiniteAreNull) {
  const TempFolder folder;
  const std::filesystem::path path = folder.path() / "config.json";
  std::ofstream(path) << R"({"limit": [0.0, Infinity, -Infinity, NaN], "text": "a \" Infinity"})";
  const nlohmann::json read = read_python_json_file(path);
  EXPECT_EQ(read["limit"][0], 0.0);
  for (const size_t i : {1, 2, 3}) EXPECT_TRUE(read["limit"][i].is_null());
  EXPECT_EQ(read["text"], "a \" Infinity");
  EXPECT_NE(error_of([&] { read_json_file(path); }), "");
}

TEST(JsonFile, NamesTheFile) {
  const TempFolder folder;
  const std::filesystem::path path = folder.path() / "settings.json";
  EXPECT_NE(error_of([&] { read_json_file(path); }).find(path.string()), std::string::npos);
  std::ofstream(path) << R"({"window": 64})";
  EXPECT_EQ(read_json_file(path)["window"], 64);
  EXPECT_NE(error_of([&] { read_json_list(path); }).find(path.string()), std::string::npos);
  std::ofstream(path) << std::string(200, '[') << std::string(200, ']');
  EXPECT_NE(error_of([&] { read_json_list(path); }).find("nested deeper than 64"),
            std::string::npos);
}

TEST(JsonFile, OneThatIsTooLargeIsNamedAndNotRead) {
  const TempFolder folder;
  const std::filesystem::path path = folder.write("config.json", "{}");
  std::filesystem::resize_file(path, uintmax_t{3} << 30);  // sparse file
  const std::string line = error_of([&] { read_json_file(path); });
  EXPECT_TRUE(testing_support::has(line, {path.string(), "at most 67108864 are read"})) << line;
}

TEST(Printable, IsOneShortLine) {
  EXPECT_EQ(printable("plain"), "'plain'");
  EXPECT_EQ(printable("a\nb\x1b[2J\u00E9"), R"('a\x0ab\x1b[2J\xc3\xa9')");
  EXPECT_EQ(printable(std::string(1000, 'x')), "'" + std::string(80, 'x') + "...'");
}

}  // namespace
}  // namespace longhaul
