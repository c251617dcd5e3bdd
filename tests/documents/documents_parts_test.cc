// Readers of single formats: HTML, RTF, encodings, page numbers, other programs.

#include <gtest/gtest.h>

#include <chrono>

#include "base/user_error.h"
#include "documents/charsets.h"
#include "documents/clean_text.h"
#include "documents/converters.h"
#include "documents/filter_program.h"
#include "documents/html_text.h"
#include "documents/page_ranges.h"
#include "documents/rtf_text.h"

namespace longhaul {
namespace {

using namespace std::string_view_literals;

std::string html(std::string_view page) { return text_of_html(page).text; }

TEST(HtmlText, TagsGoAndEntitiesAreDecoded) {
  EXPECT_EQ(
      html("<html><head><title>no</title><style>p{}</style></head><body><h1>Keys</h1>\n<p>The "
           "<b>pass&nbsp;key</b>\n is &lt;5&#56;2&#x31;3&gt; &amp; caf&eacute; &euro;&#150;x</p>"
           "<script>if (a<b) x()</script><!-- a > b --></body></html>"),
      "Keys\n\nThe pass key is <58213> & café €–x\n");
  EXPECT_EQ(html("a < b & c &unknown; &"), "a < b & c &unknown; &\n");
}

TEST(HtmlText, ListsTablesAndLinesKeepTheirShape) {
  EXPECT_EQ(html("<ul><li>a<li><p>b</p><ol><li>c</li><li>d</li></ol></ul>e<br>f<br><br>g"),
            "- a\n- b\n  1. c\n  2. d\n\ne\nf\n\ng\n");
  EXPECT_EQ(html("<table><tr><th>x</th><th>y</th></tr><tr><td><p>1</p><p>2</p></td><td></td><td>3</"
                 "td></tr></table>"),
            "x | y\n1 2 | | 3\n");
  EXPECT_EQ(html("<table><tr><td><h1>Page</h1><table><tr><td>1<td>2</table></td></tr></table>"),
            "Page\n\n1 | 2\n");
  EXPECT_EQ(html("<pre>a\n  b</pre>c<sup>2</sup> <a href='#1'><sup>1</sup></a>"),
            "a\n  b\n\nc^2 [1]\n");
}

TEST(HtmlText, HiddenElementsAreLeftOut) {
  EXPECT_EQ(html("a<div hidden>b<div>c</div></div>d<p style='display: "
                 "none'>e</p><svg><text>f</text></svg>g"),
            "a\nd\ng\n");
  EXPECT_EQ(html("<select><option>x</select>a<svg>b"), "ab\n");
}

TEST(HtmlText, HeadingsAreNamedWithTheirPlaces) {
  const HeadedText text = text_of_html("<p>x</p><h2>On <i>ships</i></h2><p>y</p>");
  ASSERT_EQ(text.headings.size(), 1u);
  EXPECT_EQ(text.headings[0].text, "On ships");
  EXPECT_EQ(text.text.substr(text.headings[0].offset, 8), "On ships");
}

TEST(HtmlText, HostilePagesTakeLinearTime) {
  const auto begun = std::chrono::steady_clock::now();
  const auto repeat = [](std::string_view part, size_t times) {
    std::string all;
    for (size_t i = 0; i < times; ++i) all += part;
    return all;
  };
  constexpr size_t kTimes = 200000;
  for (const std::string_view part :
       {"<div>", "<table><tr><td>", "<a b=\"", "<a b=\">", "<!--", "<svg>", "<ul><li>", "</p>",
        "&amp", "<", "<b hidden>", "<script>", "<sup>"}) {
    (void)html(repeat(part, kTimes));
  }
  std::string names;
  for (size_t i = 0; i < kTimes; ++i) names += "<x" + std::to_string(i) + " hidden>";
  (void)html(names);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
}

std::string rtf(std::string_view bytes) { return text_of_rtf(bytes).text; }

TEST(RtfText, CodePagesOfFileAndFontsCount) {
  EXPECT_EQ(rtf("{\\rtf1\\ansi\\ansicpg1251 \\'cf\\'e0\\'f0\\'ee\\'eb\\'fc}"), "Пароль\n");
  EXPECT_EQ(rtf("{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0\\fcharset204 Arial;}{\\f1\\fcharset128 "
                "MS;}{\\f2\\fcharset0 "
                "B;}}\\f0 \\'cf\\f1 \\'83A\\f2 \\'fc}"),
            "Пアü\n");
  EXPECT_EQ(rtf("{\\rtf1\\ansi\\uc1 \\u1055?\\u-10179?\\u-8694? \\'80 \\u8217'x}"), "П😊 € ’x\n");
  EXPECT_EQ(rtf("{\\rtf1\\mac \\'8a}"), "ä\n");
}

TEST(RtfText, ParagraphsTablesAndNotes) {
  EXPECT_EQ(rtf("{\\rtf1{\\stylesheet{\\s1 heading;}}{\\info{\\title T}}{\\*\\generator "
                "X;}\\pard\\outlinelevel0 Title\\par\\pard "
                "One\\tab two\\line three{\\footnote a note}.\\par Last\\~one\\_x\\{y\\}}"),
            "Title\n\nOne\ttwo\nthree (a note).\n\nLast one-x{y}\n");
  EXPECT_EQ(rtf("{\\rtf1 \\trowd a\\cell b\\par c\\cell\\row\\trowd d\\cell e\\cell\\row after}"),
            "a | b c\nd | e\n\nafter\n");
  EXPECT_EQ(
      text_of_rtf("{\\rtf1 x\\par\\pard\\outlinelevel1 On ships\\par\\pard y}").headings.at(0).text,
      "On ships");
}

TEST(RtfText, AnyInputIsRead) {
  for (const std::string_view input :
       {"{\\rtf1", "{\\rtf1\\", "{\\rtf1\\'", "{\\rtf1\\'4", "{\\rtf1\\bin99999999 x", "}}}}",
        "{\\rtf1\\u", "\\u-1", "{\\rtf1\\uc99999 \\u1 ", "{\\rtf1\\f99999999999999 x}",
        "{\\rtf1\\cell\\row\\row"}) {
    (void)rtf(input);
  }
  (void)rtf(std::string(3000000, '{'));
  (void)rtf("{\\rtf1" + std::string(3000000, '{') + "x" + std::string(3000000, '}'));
}

TEST(Charsets, MarksAndZeroBytesTellWideEncodings) {
  EXPECT_EQ(wide_charset("\xff\xfe\0\0a\0\0\0"sv).encoding, "UTF-32LE");
  EXPECT_EQ(wide_charset("\0\0\xfe\xff\0\0\0a"sv).encoding, "UTF-32BE");
  EXPECT_EQ(wide_charset("a\0\0\0b\0\0\0c\0\0\0\x1f\x04\0\0"sv).encoding, "UTF-32LE");
  EXPECT_EQ(wide_charset("\0\0\0a\0\0\0b\0\0\0c"sv).encoding, "UTF-32BE");
  EXPECT_EQ(wide_charset("a\0b\0c\0d\0"sv).encoding, "UTF-16LE");
  EXPECT_EQ(wide_charset("\xff\xfe\x1f\x04"sv).encoding, "UTF-16LE");
  EXPECT_EQ(wide_charset("plain text"sv).encoding, "");
}

TEST(Charsets, PagesDeclareTheirs) {
  EXPECT_EQ(declared_charset("<html><meta charset=\"windows-1251\">"), "CP1251");
  EXPECT_EQ(
      declared_charset("<META HTTP-EQUIV=Content-Type CONTENT='text/html; charset=Shift_JIS'>"),
      "CP932");
  EXPECT_EQ(declared_charset("<?xml version='1.0' encoding='koi8-r'?><html>"), "koi8-r");
  EXPECT_EQ(declared_charset("<!-- <meta charset=utf-8> --><meta charset = ISO-8859-1 >"),
            "CP1252");
  EXPECT_EQ(declared_charset("<p>no charset=here</p>"), "");
}

TEST(PageRanges, NamePages) {
  const PageRanges pages = PageRanges::parse("2,5-7,9-");
  for (const int64_t page : {2, 5, 6, 7, 9, 1000}) EXPECT_TRUE(pages.contains(page)) << page;
  for (const int64_t page : {1, 3, 4, 8}) EXPECT_FALSE(pages.contains(page)) << page;
  EXPECT_TRUE(PageRanges::parse("-3").contains(1));
  for (const char* bad :
       {"", "0", "3-2", "a", "1,,2", "-", "1-2-3", "99999999999999999999", "1.5"}) {
    EXPECT_THROW(PageRanges::parse(bad), UserError) << bad;
  }
  EXPECT_EQ(pages_in_words({1, 3}), "pages 1 and 3");
  EXPECT_EQ(pages_in_words({7}), "page 7");
  EXPECT_EQ(pages_in_words({1, 2, 5, 6, 7, 9}), "pages 1, 2, 5-7 and 9");
  EXPECT_EQ(select_pages("[page 1]\na\n\n[page 2]\nb\n", PageRanges::parse("2"), "x"),
            "[page 2]\nb\n");
  EXPECT_THROW(select_pages("no pages", PageRanges::parse("2"), "x"), UserError);
  EXPECT_THROW(select_pages("[page 1]\na\n", PageRanges::parse("2"), "x"), UserError);
}

TEST(Formats, AreToldByTheirFirstBytes) {
  const auto name = [](std::string_view bytes, std::string_view file = "a") {
    const DocumentFormat* format = format_of(bytes, file);
    return format == nullptr ? std::string() : std::string(format->name);
  };
  EXPECT_EQ(name("junk\n%PDF-1.4\n1 0 obj\nstartxref\n9\n%%EOF\n"), "PDF");
  EXPECT_EQ(name("HTTP/1.1 200 OK\r\n\r\n%PDF-1.7\n\xe2\xe3\xcf\xd3\x80\x81\x82"), "PDF");
  EXPECT_EQ(name("A file of this kind begins with %PDF-1.4 and has objects."), "");
  EXPECT_EQ(name("\xef\xbb\xbf<!-- a > b --><!DOCTYPE html>"), "HTML");
  EXPECT_EQ(name("<p>Hello</p>"), "");
  EXPECT_EQ(name("<p>Hello</p>", "page.HTM"), "HTML");
  EXPECT_EQ(name("no tags", "page.html"), "");
  EXPECT_EQ(name("<meta charset=x><title>"), "HTML");
}

TEST(FilterProgram, MemoryAndProcessorTimeAreLimited) {
  FilterLimits limits;
  limits.memory = 64 << 20;
  const std::vector<std::string> hungry = {"sh", "-c",
                                           "x=aaaaaaaaaaaaaaaa; while :; do x=$x$x$x$x; done"};
  limits.seconds = 60;
  const Filtered memory = filter_through(hungry, "", limits);
  EXPECT_EQ(memory.end, Filtered::End::kExited);
  EXPECT_NE(memory.status, 0);
  limits.seconds = 1;
  const Filtered busy =
      filter_through({"sh", "-c", "exec >&- 2>&-; while :; do :; done"}, "", limits);
  EXPECT_NE(busy.status, 0) << "killed by its limit of processor time";
  EXPECT_EQ(filter_through({"no-such-program"}, "", limits).end, Filtered::End::kNotFound);
  EXPECT_EQ(filter_through({"sh", "-c", "cat; echo x >&2; exit 3"}, "hello", FilterLimits()).output,
            "hello");
}

}  // namespace
}  // namespace longhaul
