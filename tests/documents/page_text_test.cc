#include "documents/page_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

namespace longhaul {
namespace {

/// Pages as pdftotext -bbox-layout prints them: every letter is 5 points wide, lines are 10 points
/// high and 12 apart.
class PageMaker {
 public:
  PageMaker& page() {
    if (open_) xml_ += "</page>\n";
    open_ = true;
    xml_ += "<page width=\"600\" height=\"800\">\n";
    return *this;
  }
  PageMaker& line(double x, double y, std::string_view text, double height = 10, double space = 5) {
    xml_ += "<line>";
    while (!text.empty()) {
      const std::string_view word = text.substr(0, std::min(text.find(' '), text.size()));
      text.remove_prefix(std::min(word.size() + 1, text.size()));
      size_t letters = 0;
      for (const char c : word) letters += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
      const double end = x + height / 2 * static_cast<double>(letters);
      xml_ += fmt::format("<word xMin=\"{}\" yMin=\"{}\" xMax=\"{}\" yMax=\"{}\">{}</word>\n", x, y,
                          end, y + height, word);
      x = end + space;
    }
    xml_ += "</line>\n";
    return *this;
  }
  /// Lines below each other from `y` on.
  PageMaker& lines(double x, double y, const std::vector<std::string_view>& texts) {
    for (const std::string_view text : texts) {
      line(x, y, text);
      y += 12;
    }
    return *this;
  }
  std::string text() const { return text_of_pages(pages_with_boxes(xml_), {}).text; }
  PageText read(const PageRanges& chosen = {}) const {
    return text_of_pages(pages_with_boxes(xml_), chosen);
  }

 private:
  std::string xml_;
  bool open_ = false;
};

TEST(PageText, LinesOfAParagraphAreJoined) {
  PageMaker maker;
  maker.page()
      .lines(50, 100,
             {"The harbour master keeps a book in which", "every ship that enters or leaves is one",
              "line with its name."})
      .lines(50, 150, {"In the spring of that year the book was", "lost for eleven days."});
  EXPECT_EQ(
      maker.text(),
      "[page 1]\nThe harbour master keeps a book in which every ship that enters or leaves is one "
      "line with its name.\n\nIn the spring of that year the book was lost for eleven days.\n");
}

TEST(PageText, AnIndentOrAShortLineBeginsAParagraph) {
  PageMaker maker;
  maker.page()
      .lines(50, 100, {"The harbour master keeps a book in which", "every ship is one line."})
      .line(65, 124, "In the spring of that year the book")
      .line(50, 136, "was lost for eleven days, they all say.")
      .line(65, 148, "A third one begins where the line was");
  EXPECT_EQ(
      maker.text(),
      "[page 1]\nThe harbour master keeps a book in which every ship is one line.\n\nIn the spring "
      "of that year the book was lost for eleven days, they all say.\n\nA third one begins where "
      "the line was\n");
}

TEST(PageText, LinesThatEndEarlyAndListsStayLines) {
  PageMaker maker;
  maker.page()
      .lines(50, 100, {"Anna Lund", "12 Harbour Street", "Oldsund"})
      .lines(50, 160,
             {"• a coil of rope, which is long enough to", "  reach the ground", "• two lanterns",
              "3. the key"});
  EXPECT_EQ(maker.text(),
            "[page 1]\nAnna Lund\n12 Harbour Street\nOldsund\n\n• a coil of rope, which is long "
            "enough to "
            "reach the ground\n• two lanterns\n3. the key\n");
}

TEST(PageText, HyphensAtLineEndsGoAndThoseOfWordsStay) {
  PageMaker maker;
  maker.page().lines(
      50, 100,
      {"Every one of them wrote down the infor-", "mation about a well-known ship in long-",
       "term use, of Anglo-American or Anglo-", "Saxon make, and the import- and export-",
       "ing of women and servants by the women-", "servants who paid for the hy\u00adphen\u00ad",
       "ation of the word, which is well-", "known to all of us in the years 1990-",
       "2000 or so."});
  EXPECT_EQ(
      maker.text(),
      "[page 1]\nEvery one of them wrote down the information about a well-known ship in long-term "
      "use, of Anglo-American or Anglo-Saxon make, and the import- and exporting of women and "
      "servants by the women-servants who paid for the hyphenation of the word, which is "
      "well-known to all of us in the years 1990-2000 or so.\n");
}

TEST(PageText, HeadingsStandAlone) {
  PageMaker maker;
  maker.page()
      .line(50, 100, "The Great Book", 16)
      .line(50, 130, "1. Ships", 12)
      .lines(50, 145, {"The harbour master keeps a book in which", "every ship is one line."});
  EXPECT_EQ(
      maker.text(),
      "[page 1]\nThe Great Book\n\n1. Ships\n\nThe harbour master keeps a book in which every ship "
      "is one line.\n");
}

const std::vector<std::string_view> kLeft = {
    "The harbour master keeps a book", "in which every ship that enters",
    "the port is put down, and the", "spring of that year was warm as",
    "nobody in the whole town would"};
const std::vector<std::string_view> kRight = {
    "remember. The keeper of the key", "was an old man of eighty years,",
    "who had seen many ships come and", "go, and who told of all of them", "in the evening."};

TEST(PageText, ColumnsAreReadOneAfterTheOther) {
  PageMaker maker;
  maker.page()
      .line(150, 60, "A Title Across Both Columns", 16)
      .lines(50, 100, kLeft)
      .lines(220, 103, kRight);
  EXPECT_EQ(
      maker.text(),
      "[page 1]\nA Title Across Both Columns\n\nThe harbour master keeps a book in which every "
      "ship "
      "that enters the port is put down, and the spring of that year was warm as nobody in the "
      "whole town would remember. The keeper of the key was an old man of eighty years, who had "
      "seen many ships come and go, and who told of all of them in the evening.\n");
}

TEST(PageText, ColumnsThatTheProgramTakesForOneLineArePartedAgain) {
  std::string xml = "<page>\n";
  auto left = kLeft.begin(), right = kRight.begin();
  for (double y = 100; left != kLeft.end(); y += 12, ++left, ++right) {
    PageMaker one, two;
    one.page().line(50, y, *left);
    two.page().line(220, y, *right);
    xml += fmt::format(
        "<line><word xMin=\"50\" yMin=\"{0}\" xMax=\"208\" yMax=\"{1}\">{2}</word>"
        "<word xMin=\"220\" yMin=\"{0}\" xMax=\"380\" yMax=\"{1}\">{3}</word></line>\n",
        y, y + 10, *left, *right);
  }
  const std::string text = text_of_pages(pages_with_boxes(xml), {}).text;
  EXPECT_NE(text.find("nobody in the whole town would remember. The keeper"), std::string::npos)
      << text;
}

TEST(PageText, RowsOfATableStayRows) {
  PageMaker maker;
  maker.page();
  const std::vector<std::array<std::string_view, 3>> rows = {
      {"Goods", "Weight", "Duty"}, {"Salt", "340 lb", "2s 6d"}, {"Dried cod", "1,204 lb", "14s"}};
  double y = 100;
  for (const auto& row : rows) {
    maker.line(50, y, row[0]).line(130, y, row[1]).line(230, y, row[2]);
    y += 14;
  }
  EXPECT_EQ(maker.text(),
            "[page 1]\nGoods | Weight | Duty\nSalt | 340 lb | 2s 6d\nDried cod | 1,204 lb | 14s\n");
}

TEST(PageText, WideSpacesOfJustifiedLinesAreNoCells) {
  PageMaker maker;
  maker.page()
      .line(50, 100, "the wide spaces of this line are", 10, 9)
      .line(50, 112, "the wide spaces of that line are", 10, 9)
      .line(50, 124, "the wide spaces of more line are", 10, 9)
      .line(50, 136, "the end.");
  EXPECT_EQ(
      maker.text(),
      "[page 1]\nthe wide spaces of this line are the wide spaces of that line are the wide spaces "
      "of more line are the end.\n");
}

TEST(PageText, HeadersFootersAndPageNumbersOfMostPagesGo) {
  PageMaker maker;
  for (int page = 1; page <= 4; ++page) {
    maker.page().line(50, 30, page % 2 == 0 ? "The Harbour Report" : "Chapter One of Ships");
    maker.line(400, 30, std::to_string(page + 6));
    maker.line(50, 100,
               fmt::format("Text of a page that is number {}",
                           std::string(4, static_cast<char>('a' + page))));
    if (page == 2) maker.line(50, 112, "1204");
    maker.line(50, 780, fmt::format("Page {} of 4", page));
  }
  EXPECT_EQ(
      maker.text(),
      "[page 1]\nText of a page that is number bbbb\n\n[page 2]\nText of a page that is number "
      "cccc 1204\n\n[page 3]\nText of a page that is number dddd\n\n[page 4]\nText of a page that "
      "is number eeee\n");
}

TEST(PageText, RomanPageNumbersBetweenDashesGo) {
  // In the middle of three columns, where the number lies below a column's text.
  constexpr std::array kNumbers = {"i", "ii", "iii", "iv"};
  PageMaker maker;
  for (const char* number : kNumbers) {
    maker.page();
    for (const int x : {50, 230, 410}) {
      maker.lines(x, 700, {"The harbour master keeps a book", "in which every ship is a line."});
    }
    maker.line(270, 780, fmt::format("- {} -", number));
  }
  EXPECT_EQ(maker.text().find(" -"), std::string::npos) << maker.text();
}

TEST(PageText, ALineOfTheTextThatRepeatsStays) {
  PageMaker maker;
  for (int page = 1; page <= 3; ++page) {
    maker.page().lines(50, 30,
                       {"The harbour master keeps a book in which",
                        "every ship is one line, and one more of", "all of them is lost."});
  }
  const std::string text = maker.text();
  EXPECT_EQ(text.find("harbour"), text.find("[page 1]") + 13) << text;
}

TEST(PageText, WordsAndSentencesGoOnAcrossPages) {
  PageMaker maker;
  maker.page().lines(
      50, 100,
      {"The harbour master keeps a book in which", "every ship is one line of the infor-"});
  maker.page().lines(50, 100, {"mation that he has about all the ships", "that come."});
  EXPECT_EQ(maker.text(),
            "[page 1]\nThe harbour master keeps a book in which every ship is one line of the "
            "information\n\n[page 2]\nthat he has about all the ships that come.\n");
}

TEST(PageText, PagesWithoutTextAreNamedAndPagesAreChosen) {
  PageMaker maker;
  maker.page().page().line(50, 100, "Only this.").page().page().line(50, 100, "And this.");
  const PageText all = maker.read();
  EXPECT_EQ(all.text, "[page 2]\nOnly this.\n\n[page 4]\nAnd this.\n");
  EXPECT_EQ(all.without, (std::vector<int64_t>{1, 3}));
  const PageText some = maker.read(PageRanges::parse("3-"));
  EXPECT_EQ(some.text, "[page 4]\nAnd this.\n");
  EXPECT_EQ(some.without, (std::vector<int64_t>{3}));
}

TEST(PageText, HebrewAndArabicAreReadFromTheRight) {
  EXPECT_EQ(logical_order("58213 איה המסיסה"), "הסיסמה היא 58213");
  EXPECT_EQ(logical_order("(2026) תנש לש רמאמ"), "מאמר של שנת (2026)");
  EXPECT_EQ(logical_order("The word םולש means peace"), "The word שלום means peace");
  EXPECT_EQ(logical_order("open source דואמ ירוקמ דוק"), "קוד מקורי מאוד open source");
  PageMaker maker;
  maker.page().line(50, 100, "58213 איה המסיסה");
  EXPECT_EQ(maker.text(), "[page 1]\nהסיסמה היא 58213\n");
}

TEST(PageText, ChineseLinesAreJoinedWithoutSpaces) {
  PageMaker maker;
  maker.page()
      .line(50, 100, "港口的主人有一本书，", 10)
      .line(50, 112, "每条船在。", 10)
      .line(50, 124, "完", 10);
  EXPECT_EQ(maker.text(), "[page 1]\n港口的主人有一本书，每条船在。\n完\n");
}

TEST(PageText, LigaturesAndMarksOfPrintBecomeLetters) {
  PageMaker maker;
  maker.page().line(50, 100, "oﬃce ﬁrst ex\u00adtra \u202bx\u202c \x1cve \x0e");
  EXPECT_EQ(maker.text(), "[page 1]\noffice first extra x five ffi\n");
}

TEST(PageText, AnyInputIsRead) {
  for (const std::string_view input :
       {"", "<page", "<page><line><word",
        "<page><line><word xMin=\"nan\" yMin=\"1e999\">x</word></line>",
        "<line><word>x</word></line>", "<page><line></line></page>", "\f\f", "</page></line>"}) {
    (void)text_of_pages(pages_with_boxes(input), {});
    (void)text_of_pages(plain_pages(input), {});
  }
  std::string many = "<page>";
  for (int i = 0; i < 3000; ++i) {
    many +=
        fmt::format("<line><word xMin=\"{}\" yMin=\"{}\" xMax=\"{}\" yMax=\"{}\">w</word></line>",
                    i % 7 * 40, i, i % 7 * 40 + 9, i + 9);
  }
  EXPECT_EQ(text_of_pages(pages_with_boxes(many), {}).text.substr(0, 9), "[page 1]\n");
}

}  // namespace
}  // namespace longhaul
