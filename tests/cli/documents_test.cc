// Documents that are not plain text, with stand-ins for the tools that read them.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "cli/program.h"

namespace longhaul {
namespace {

using testing_support::has;
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
  refuses("{\\rtf1 x}", "RTF", "pandoc");
  EXPECT_TRUE(refused(ask("-", "%PDF-1.4"), {"standard input: this is PDF", "poppler-utils"}));
  EXPECT_TRUE(refused(ask(file("a.zip", std::string("PK\3\4", 4) + "else")), {"ZIP archive"}));
  EXPECT_TRUE(refused(ask(file("a.doc", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1...")), {"--convert-to"}));
  EXPECT_TRUE(refused(ask(file("a.png", "\x89PNG\r\n\x1a\n")), {"a picture", "OCR"}));
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

TEST_F(Documents, ToolsGetTheBytesAndNoName) {
  tool("pandoc", "echo \"$@\"; cat");
  const std::string html = file("page", "<!-- made by --> <!DOCTYPE HTML><p>Hello</p>");
  const std::string same = file("same.txt",
                                "--sandbox -f html -t plain --wrap=none\n"
                                "<!-- made by --> <!DOCTYPE HTML><p>Hello</p>");
  EXPECT_EQ(tokens(html), tokens(same));
  const std::string text = file("text.txt", "A text with <html> in it.");
  EXPECT_EQ(program_.run({"tokenize", "-f", text, "--count"}).err, "") << "no page";
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
  if (std::filesystem::exists("/usr/bin/pandoc")) {
    const std::string html = file("a.html", "<html><h1>Keys</h1><p>The <b>pass key</b></p></html>");
    EXPECT_EQ(tokens(html), tokens(file("same.txt", "Keys\n\nThe pass key\n")));
  }
}

TEST_F(Documents, HtmlIsReadWithItsTagsWherePandocIsMissing) {
  const Outcome o = ask(file("page.html", "<html><p>Hello</p></html>"));
  EXPECT_EQ(o.status, 0);
  EXPECT_TRUE(has(o.err, {"warning: ", "page.html: this is HTML", "apt-get install pandoc"}));
}

TEST_F(Documents, FailuresAreToldInALine) {
  tool("pdftotext", "echo first >&2; echo 'Incorrect password' >&2; exit 1");
  const std::string pdf = file("locked.pdf", "%PDF-1.7");
  EXPECT_TRUE(refused(ask(pdf), {"locked.pdf: pdftotext cannot read it: Incorrect password"}));
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
