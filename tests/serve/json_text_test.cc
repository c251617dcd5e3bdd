// JSON as text: the same bytes as nlohmann's writer, for every kind of value.

#include "serve/api/json_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace longhaul::serve {
namespace {

Json random_value(std::mt19937& random, int depth) {
  static const std::vector<std::string> parts = {
      "a",    "word ", "\"",           "\\",       "\n",   "\t",
      "\x01", "\x1f",  "\x7f",         "é",        "日本", "\xf0\x9f\x98\x80",
      "\xff", "\xc3",  "\xed\xa0\x80", "\xe2\x82", "/",    "\b\f\r"};
  switch (random() % (depth > 3 ? 6 : 8)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<int64_t>(random()) * (random() % 2 == 0 ? -1 : 1) << random() % 30;
    case 3:
      return std::numeric_limits<uint64_t>::max() - random() % 5;
    case 4:
      return std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 100);
    case 5: {
      std::string text;
      for (size_t i = random() % 8; i > 0; --i) text += parts[random() % parts.size()];
      return text;
    }
    case 6: {
      Json list = Json::array();
      for (size_t i = random() % 5; i > 0; --i) list.push_back(random_value(random, depth + 1));
      return list;
    }
    default: {
      Json object = Json::object();
      for (size_t i = random() % 5; i > 0; --i) {
        object[parts[random() % parts.size()] + std::to_string(i)] =
            random_value(random, depth + 1);
      }
      return object;
    }
  }
}

TEST(JsonText, IsThatOfTheLibrary) {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const Json value = random_value(random, 0);
    const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    ASSERT_EQ(text_of(value), text);
  }
  for (const Json& value : {Json(), Json::object(), Json::array(), Json(std::nan("")),
                            Json(std::numeric_limits<double>::infinity()), Json(-0.0), Json(1e300),
                            Json(std::numeric_limits<int64_t>::min())}) {
    EXPECT_EQ(text_of(value), value.dump());
  }
}

TEST(JsonText, BodiesAreThoseOfTheLibrary) {
  std::mt19937 random(8);
  const std::vector<std::string_view> known = {"a"};
  for (int i = 0; i < 2000; ++i) {
    const Json body = {{"a", random_value(random, 0)}};
    const std::string text = body.dump(-1, ' ', random() % 2 == 0, Json::error_handler_t::replace);
    if (text.find("\\u0000") != std::string::npos) continue;
    ASSERT_EQ(read_body(text, known), Json::parse(text)) << text;
  }
}

}  // namespace
}  // namespace longhaul::serve
