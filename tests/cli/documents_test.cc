// Documents that are not plain text, with stand-ins for the tools that read them.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli/program.h"
#include "cli/texts.h"

namespace longhaul {
namespace {

using testing_support::has;
using testing_support::kNumberQuestion;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

/// A program whose PATH holds only files that the test puts there, and the shell that runs them.
class Documents : public ::testing::Test {
 protected:
  Documents() {
    std::filesystem::create_directory(tools_);
    program_.set_environment("PATH", tools_.string() + ":/usr/bin-that-is-not:/bin-neither");
  }
  void tool(const std::string& name, const std::string& script) {
    std::ofstream(tools_ / name) << "#!/bin/sh\nPATH=/usr/bin:/bin\n" << script << "\n";
    chmod((tools_ / name).c_str(), 0755);
  }
  std::string file(const std::string& name, const std::string& bytes) {
    return program_.folder().write(name, bytes);
  }
  Outcome ask(const std::string& file, const std::string& input = "") {
    return program_.run({"run", "-f", file, "-p", "x", "-n", "0"}, input);
  }
  std::string text_of(const std::string& file, Program::Arguments more = {}) {
    more.insert(more.begin(), {"tokenize", "--text", "-f", file});
    const Outcome o = program_.run(more);
    EXPECT_EQ(o.status, 0) << o.err;
    return o.out;
  }
  nlohmann::json tokens(const std::string& file) {
    return program_.run({"tokenize", "-f", file, "--json"}).json();
  }

  Program program_;
  std::filesystem::path tools_ = program_.folder().path() / "tools";
};

TEST_F(Documents, AMissingToolIsNamedWithItsPackage) {
  const auto refuses = [&](const std::string& bytes, std::string_view what,
                           std::string_view package) {
    EXPECT_TRUE(refused(ask(file("a.doc", bytes)), {"a.doc: this is", what, package}));
  };
  refuses("%PDF-1.7\n", "PDF", "apt-get install poppler-utils");
  refuses(std::string("PK\3\4", 4) + std::string(40, 'x') + "word/document.xml", "DOCX", "pandoc");
  refuses(std::string("PK\3\4", 4) + std::string(26, 'x') + "mimetypeapplication/epub+zip", "EPUB",
          "apt-get install pandoc");
  refuses(std::string("PK\3\4", 4) + std::string(26, 'x') +
              "mimetypeapplication/vnd.oasis.opendocument.text",
          "ODT", "pandoc");
  EXPECT_TRUE(refused(ask("-", "%PDF-1.4"), {"standard input: this is PDF", "poppler-utils"}));
  EXPECT_TRUE(refused(ask(file("a.zip", std::string("PK\3\4", 4) + "else")), {"ZIP archive"}));
  EXPECT_TRUE(refused(ask(file("a.doc", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1...")), {"--convert-to"}));
  EXPECT_TRUE(refused(ask(file("a.png", "\x89PNG\r\n\x1a\n")), {"a picture", "OCR"}));
}

/// The file comes without -f, in place of a model or a command.
TEST_F(Documents, InPlaceOfAModelOrACommandAreRecognised) {
  const std::string pdf = file("lease.pdf", "%PDF-1.7 ..."), text = file("notes.txt", "Notes.");
  for (const std::string& each : {pdf, text}) {
    const std::string advice = "longhaul run -f " + each;
    EXPECT_TRUE(refused(program_.run({"run", each, "When?"}), {"is a document: put -f before"}));
    EXPECT_TRUE(refused(program_.run({"run", "-p", "x", each}), {"is a document: put -f before"}));
    EXPECT_TRUE(refused(program_.run({"run", "-m", each, "-p", "x"}), {"a document", advice}));
    EXPECT_TRUE(refused(program_.run({each}), {"a document", advice}));
    EXPECT_TRUE(refused(program_.run({"serve", each}), {"is a document", advice}));
  }
}

TEST_F(Documents, WithoutAQuestionAreNoted) {
  const std::string text = file("notes.txt", "Notes.");
  const auto note = [&](Program::Arguments more) {
    more.insert(more.begin(), {"run", "-f", text});
    return program_.run(more).err.find("note: no question was given; -p asks one") !=
           std::string::npos;
  };
  EXPECT_TRUE(note({"-n", "1"}));
  EXPECT_FALSE(note({"-n", "1", "-p", "Who?"}));
  EXPECT_FALSE(note({"-n", "1", "-q"}));
  EXPECT_FALSE(note({"-n", "0"}));
}

TEST_F(Documents, WhatBecomesOfThemIsBoundedAsTextsAre) {
  tool("pdftotext", "cat > /dev/null; exec yes");
  const std::string pdf = file("a.pdf", "%PDF-1.7 ...");
  EXPECT_TRUE(refused(program_.run({"run", "-f", pdf, "-p", "x", "--ctx", "100"}),
                      {"a.pdf: more than", "--ctx 100"}));
  EXPECT_TRUE(refused(program_.run({"advise", pdf, "--memory-limit", "99M"}),
                      {"a.pdf: more than 1.5 MiB", "--memory-limit"}));
}

TEST_F(Documents, PagesKeepTheirNumbers) {
  tool("pdftotext", R"(cat > /dev/null; printf 'First page.\n\f\n \n\fThird page.\n\n\f')");
  const std::string pdf = file("-rf $(touch x); a'\n.pdf", "%PDF-1.7 ...");
  const Outcome o = ask(pdf);
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.err, {"PDF, 3 pages, by pdftotext"}));
  const std::string text = file("same.txt", "[page 1]\nFirst page.\n\n[page 3]\nThird page.\n");
  EXPECT_EQ(tokens(pdf), tokens(text));
}

const std::string kDocx = std::string("PK\3\4", 4) + std::string(40, 'x') + "word/document.xml";

TEST_F(Documents, ToolsGetTheBytesAndNoName) {
  tool("pandoc", "echo \"<p>$@</p><p>$(tail -c 17)</p>\"");
  const std::string docx = file("page", kDocx);
  EXPECT_EQ(text_of(docx), "--sandbox -f docx -t html -s --wrap=none\n\nword/document.xml\n");
}

/// A PDF with one line of text per page. The reader must rebuild its cross-reference table.
std::string pdf_of(const std::vector<std::string>& lines) {
  std::string pages, objects;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string page = std::to_string(4 + 2 * i), body = std::to_string(5 + 2 * i);
    const std::string text = "BT /F1 12 Tf 50 700 Td (" + lines[i] + ") Tj ET";
    pages += page + " 0 R ";
    objects += page + " 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents " +
               body + " 0 R /Resources << /Font << /F1 3 0 R >> >> >> endobj\n" + body +
               " 0 obj << /Length " + std::to_string(text.size()) + " >> stream\n" + text +
               "\nendstream endobj\n";
  }
  return "%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n"
         "2 0 obj << /Type /Pages /Kids [" +
         pages + "] /Count " + std::to_string(lines.size()) +
         " >> endobj\n3 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj\n" +
         objects + "trailer << /Root 1 0 R >>\n%%EOF\n";
}

TEST_F(Documents, RealToolsReadRealFiles) {
  program_.set_environment("PATH", "/usr/bin:/bin");
  if (std::filesystem::exists("/usr/bin/pdftotext")) {
    const std::string pdf = file("a.pdf", pdf_of({"First page.", "The pass key is 58213."}));
    const std::string same =
        file("same.txt", "[page 1]\nFirst page.\n\n[page 2]\nThe pass key is 58213.\n");
    EXPECT_EQ(tokens(pdf), tokens(same));
  }
}

TEST_F(Documents, HtmlAndRtfNeedNoTool) {
  EXPECT_EQ(text_of(file("a.html", "<html><h1>Keys</h1><p>The <b>pass key</b></p></html>")),
            "Keys\n\nThe pass key\n");
  EXPECT_EQ(text_of(file("a.htm", "<p>The <b>pass key</b></p>")), "The pass key\n");
  EXPECT_EQ(text_of(file("a.txt", "<p>The <b>pass key</b></p>")), "<p>The <b>pass key</b></p>");
  EXPECT_EQ(text_of(file("a.rtf", "{\\rtf1\\ansi\\ansicpg1251 \\'cf\\'e0\\'f0\\'ee\\'eb\\'fc}")),
            "Пароль\n");
}

TEST_F(Documents, CharsetsOfPagesCount) {
  const std::string cyrillic = "\xcf\xe0\xf0\xee\xeb\xfc";  // windows-1251
  EXPECT_EQ(text_of(file("a.html", "<html><meta charset=\"windows-1251\"><p>" + cyrillic)),
            "Пароль\n");
  EXPECT_EQ(text_of(file("b.html", "<?xml version='1.0' encoding='koi8-r'?><html><p>\xf0\xc1")),
            "Па\n");
  const Outcome unknown = ask(file("c.html", "<html><meta charset=klingon><p>x</p>"));
  EXPECT_EQ(unknown.status, 0);
  EXPECT_TRUE(has(unknown.err, {"warning: ", "c.html: declares the charset", "klingon"}));
  std::string wide;
  for (const char c : std::string_view("<html><p>Key</p></html>")) wide += {c, '\0'};
  EXPECT_EQ(text_of(file("d.html", "\xff\xfe" + wide)), "Key\n");
  EXPECT_EQ(text_of(file("e.html", wide)), "Key\n");
  std::string wider("\xff\xfe\0\0", 4);
  for (const char c : std::string_view("The key")) wider += {c, '\0', '\0', '\0'};
  EXPECT_EQ(text_of(file("f.txt", wider)), "The key");
  EXPECT_EQ(text_of(file("g.txt", wider.substr(4))), "The key");
}

TEST_F(Documents, PagesAreChosenAndPagesWithoutTextAreNamed) {
  tool("pdftotext", R"(cat > /dev/null; printf '\fTwo.\n\f\fFour.\n\fFive.\n\f')");
  const std::string pdf = file("a.pdf", "%PDF-1.7 ...");
  EXPECT_EQ(text_of(pdf, {"--pages", "2-4"}), "[page 2]\nTwo.\n\n[page 4]\nFour.\n");
  const Outcome all = ask(pdf);
  EXPECT_TRUE(has(all.err, {"warning: ", "a.pdf: pages 1 and 3 of 5 have no text", "OCR"}));
  const Outcome some = program_.run({"run", "-f", pdf, "--pages", "4-", "-p", "x", "-n", "0"});
  EXPECT_TRUE(has(some.err, {"PDF, pages 4 and 5 of 5"}));
  EXPECT_EQ(some.err.find("warning"), std::string::npos) << some.err;
  const auto pages_refused = [&](const std::string& pages, const std::string& of,
                                 std::initializer_list<std::string_view> parts) {
    EXPECT_TRUE(
        refused(program_.run({"run", "-f", of, "--pages", pages, "-p", "x", "-n", "0"}), parts));
  };
  pages_refused("6-9", pdf, {"--pages 6-9", "a.pdf has 5 pages"});
  pages_refused("9-6", pdf, {"--pages '9-6': '9-6' goes backwards; 6-9"});
  pages_refused("0", pdf, {"--pages '0': pages begin at 1"});
  pages_refused("0-3", pdf, {"--pages '0-3': pages begin at 1"});
  pages_refused("two", pdf, {"--pages 'two'", "give numbers"});
  pages_refused("3", pdf, {"a.pdf: pdftotext finds no text on page 3 of 5", "OCR"});
  const auto warns = [&](const std::string& of, const char* pages) {
    return program_.run({"run", "-q", "-f", of, "--pages", pages, "-p", "x", "-n", "0"}).err;
  };
  EXPECT_TRUE(has(warns(pdf, "1,9"), {"a.pdf has 5 pages; page 9 does not exist\n"}));
  EXPECT_TRUE(has(warns(pdf, "4-9,12"), {"a.pdf has 5 pages; pages 6-9, 12 do not exist\n"}));
  EXPECT_TRUE(has(warns(pdf, "1,9-"), {"a.pdf has 5 pages; pages 9- do not exist\n"}));
  EXPECT_EQ(warns(pdf, "4-"), "");
  EXPECT_TRUE(has(warns(file("m.txt", "[page 1]\nOne.\n"), "1-2"),
                  {"m.txt has 1 page; page 2 does not exist\n"}));
  pages_refused("2", file("a.txt", "No pages."), {"--pages 2", "a.txt has no pages"});
  EXPECT_EQ(text_of(file("b.txt", "[page 1]\nOne.\n\n[page 2]\nTwo.\n"), {"--pages", "2"}),
            "[page 2]\nTwo.\n");
}

TEST_F(Documents, SeveralFilesFollowOneFlag) {
  const std::string a = file("a.txt", "One."), b = file("b.txt", "Two.");
  const Outcome o = program_.run({"run", "-f", a, b, "-p", "x", "-n", "0"});
  EXPECT_EQ(o.status, 0) << o.err;
  EXPECT_TRUE(has(o.err, {"a.txt, 4 bytes", "b.txt, 4 bytes"}));
}

TEST_F(Documents, ConvertersStayInsideTheMemoryLimit) {
  const std::string limits = (program_.folder().path() / "limits").string();
  tool("pandoc", "echo $(ulimit -d) $(ulimit -t) > " + limits + "; echo '<p>text</p>'");
  const std::string docx = file("a.docx", kDocx);
  program_.set_environment("LONGHAUL_CONVERT_SECONDS", "40");
  const Outcome o =
      program_.run({"run", "-f", docx, "-p", "x", "-n", "0", "--memory-limit", "300M"});
  EXPECT_EQ(o.status, 0) << o.err;
  int64_t data = 0, seconds = 0;
  std::ifstream(limits) >> data >> seconds;  // KiB, seconds
  EXPECT_GT(data, 50 * 1024);
  EXPECT_LT(data, 300 * 1024);
  EXPECT_EQ(seconds, 41);
  tool("pandoc",
       "echo 'pandoc: internal error: Unable to commit 1048576 bytes of memory' >&2; exit 254");
  EXPECT_TRUE(refused(program_.run({"run", "-f", docx, "-p", "x", "--memory-limit", "300M"}),
                      {"a.docx: pandoc needs more than", "--memory-limit"}));
}

TEST_F(Documents, SourcesNameHeadingsAndParagraphs) {
  std::string rain;
  for (int i = 0; i < 8; ++i) {
    rain += "The rain had not stopped since the morning, and the road lay under water. ";
  }
  const std::string page =
      "<html><h1>On rain</h1><p>" + rain + "</p><p>" + rain +
      "</p><h2>On numbers</h2><p>A first paragraph that is short.</p><p>One of "
      "the special magic numbers for quiet-harbor is: 4827163.</p><h2>On "
      "roads</h2><p>" +
      rain + "</p>";
  const std::string html = file("a.html", page);
  const Outcome o = program_.run({"run", "-f", html, "-p", kNumberQuestion, "--sources=1"});
  EXPECT_TRUE(has(o.out, {"a.html, \"On numbers\", paragraph 2, at ", "4827163"})) << o.err;
  const auto json =
      program_.run({"run", "-f", html, "-p", kNumberQuestion, "--sources=1", "--json"}).json();
  EXPECT_EQ(json["sources"][0]["heading"], "On numbers");
  EXPECT_EQ(json["sources"][0]["paragraph"], 2);
}

TEST_F(Documents, PassagesThatAreCutSaySo) {
  std::string text;
  for (int i = 0; i < 30; ++i) text += "rain and wind and sea and rain again and more of it and ";
  text.insert(900, " One of the special magic numbers for quiet-harbor is: 4827163 ");
  const Outcome o =
      program_.run({"run", "-f", file("a.txt", text), "-p", kNumberQuestion, "--sources=1"});
  EXPECT_TRUE(has(o.out, {"... ", " ...\n"})) << o.err;
}

TEST_F(Documents, FailuresAreToldInALine) {
  tool("pdftotext", "echo first >&2; echo 'Incorrect password' >&2; exit 1");
  const std::string pdf = file("locked.pdf", "%PDF-1.7");
  EXPECT_TRUE(refused(ask(pdf), {"locked.pdf: this PDF needs a password"}));
  const std::string encrypted("E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0", 32);
  EXPECT_TRUE(refused(ask(file("locked.docx", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" +
                                                  std::string(99, '\0') + encrypted)),
                      {"locked.docx: this DOCX needs a password"}));
  tool("pdftotext", R"(printf '\f\f')");
  EXPECT_TRUE(refused(ask(pdf), {"locked.pdf: pdftotext finds no text", "OCR"}));
  tool("pdftotext", "kill -9 $$");
  EXPECT_TRUE(refused(ask(pdf), {"locked.pdf: pdftotext cannot read it"}));
}

TEST_F(Documents, AToolThatHangsOrFloodsIsStopped) {
  program_.set_environment("LONGHAUL_CONVERT_SECONDS", "0.3");
  tool("pdftotext", "exec sleep 60");
  const std::string pdf = file("slow.pdf", "%PDF-1.7");
  EXPECT_TRUE(refused(ask(pdf), {"slow.pdf: pdftotext took more than 300 ms"}));
  program_.set_environment("LONGHAUL_CONVERT_SECONDS", "120");
  tool("pdftotext", "exec yes");
  EXPECT_TRUE(refused(ask(pdf), {"slow.pdf: pdftotext makes more than 256.0 MiB"}));
  program_.set_environment("LONGHAUL_CONVERT_SECONDS", "soon");
  EXPECT_TRUE(refused(ask(pdf), {"LONGHAUL_CONVERT_SECONDS", "'soon'"}));
}

TEST_F(Documents, OtherEncodingsAreReadAndNamed) {
  const std::string utf8 = file("utf8.txt", "Grüße – “hier”\n");
  const std::string western = file("western.txt",
                                   "Gr\xfc\xdf"
                                   "e \x96 \x93hier\x94\n");
  EXPECT_EQ(tokens(western), tokens(utf8));
  EXPECT_TRUE(has(ask(western).err, {"western.txt: not valid UTF-8: read as Windows-1252"}));
  const std::string little(
      "\xff\xfeG\0r\0\xfc\0\xdf\0e\0 \0\x13\x20 \0\x1c\x20h\0i\0e\0r\0\x1d\x20\n\0", 32);
  EXPECT_EQ(tokens(file("little.txt", little)), tokens(utf8));
  EXPECT_EQ(tokens(file("bare.txt", little.substr(2))), tokens(utf8));
  EXPECT_TRUE(has(ask(file("bare.txt", little.substr(2))).err, {"bytes, UTF-16LE"}));
}

}  // namespace
}  // namespace longhaul
