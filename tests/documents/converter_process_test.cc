// Documents that another process converts, with stand-ins for the tools that it runs.

#include "documents/converter_process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "documents/converter_messages.h"
#include "format/temp_folder.h"

namespace longhaul {
namespace {

using testing_support::TempFolder;
using Problem = DocumentError::Problem;

constexpr const char* kPdf = "%PDF-1.7\nbytes";

/// A converter whose PATH begins with a folder of the test.
class Converter : public ::testing::Test {
 protected:
  Converter() : path_(std::getenv("PATH")) {
    setenv("PATH", (tools_.path().string() + ":" + path_).c_str(), 1);
  }
  ~Converter() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("LONGHAUL_CONVERT_SECONDS");
  }
  void tool(const std::string& name, const std::string& script) {
    chmod(tools_.write(name, "#!/bin/sh\n" + script + "\n").c_str(), 0755);
  }
  void start() { process_ = std::make_unique<ConverterProcess>(ConverterLimits()); }

  ConvertedDocument convert(const std::string& bytes, const std::string& name = "a.bin",
                            size_t most_text = 1 << 20) {
    DocumentOptions options;
    options.limit = {most_text, "more than the test allows"};
    return process_->convert(bytes, name, options);
  }
  /// The message of the refusal, with its kind before it.
  std::string refusal(const std::string& bytes, const std::string& name = "a.bin",
                      size_t most_text = 1 << 20) {
    try {
      return "text: " + convert(bytes, name, most_text).document.text;
    } catch (const DocumentError& error) {
      const char* kinds[] = {"unsupported: ", "no text: ",   "encrypted: ", "too long: ",
                             "too slow: ",    "too large: ", "unreadable: "};
      return kinds[static_cast<size_t>(error.problem)] + std::string(error.what());
    } catch (const ConverterGone&) {
      return "gone";
    }
  }

  std::string path_;
  TempFolder tools_, other_;
  std::unique_ptr<ConverterProcess> process_;
};

TEST_F(Converter, ConvertsTextsPagesAndPdfs) {
  tool("pdftotext", "cat >/dev/null; printf 'One.\\n\\fTwo.\\n'");
  start();
  EXPECT_EQ(convert("plain text\n").document.text, "plain text\n");
  const ConvertedDocument page = convert("<h1>On ships</h1><p>They sail.</p>", "a.html");
  EXPECT_EQ(page.document.text, "On ships\n\nThey sail.\n");
  ASSERT_EQ(page.document.headings.size(), 1u);
  EXPECT_EQ(page.document.headings[0].text, "On ships");
  EXPECT_TRUE(page.document.in_paragraphs);
  const ConvertedDocument pdf = convert(kPdf, "report.pdf");
  EXPECT_EQ(pdf.document.name, "report.pdf");
  EXPECT_EQ(pdf.document.made, "PDF, 2 pages, by pdftotext");
  EXPECT_NE(pdf.document.text.find("[page 2]"), std::string::npos) << pdf.document.text;
  const ConvertedDocument broken = convert("a\xff\xfe\xfd z \x81\xe2\x82");
  ASSERT_FALSE(broken.warnings.empty());
  EXPECT_TRUE(broken.warnings.front().starts_with("a.bin: not valid UTF-8")) << broken.warnings[0];
  EXPECT_TRUE(process_->alive());
}

TEST_F(Converter, RefusesWithTheKindOfTheProblem) {
  tool("pdftotext", "cat >/dev/null; printf '\\f\\f'");
  start();
  EXPECT_EQ(refusal("\x89PNG\r\n\x1a\n").substr(0, 22), "unsupported: a.bin: th");
  EXPECT_EQ(refusal(std::string("ab\0cd", 5)).substr(0, 19), "unsupported: a.bin:");
  EXPECT_EQ(refusal(" \n\t", "a.txt"), "no text: a.txt: there is no text in it");
  EXPECT_NE(refusal(kPdf, "s.pdf")
                .find("no text: s.pdf: pdftotext finds no text in it: it needs OCR first"),
            std::string::npos)
      << refusal(kPdf, "s.pdf");
  EXPECT_NE(
      refusal(std::string(5000, 'a'), "a.txt", 4096).find("too long: a.txt: more than 4.0 KiB"),
      std::string::npos);
}

TEST_F(Converter, KnowsEncryptedAndTooLargeDocuments) {
  tool("pdftotext", "cat >/dev/null; echo 'Incorrect password' >&2; exit 1");
  start();
  EXPECT_EQ(refusal(kPdf, "a.pdf").substr(0, 18), "encrypted: a.pdf: ");
  tool("pdftotext", "cat >/dev/null; echo 'Out of memory' >&2; exit 1");
  EXPECT_EQ(refusal(kPdf, "a.pdf").substr(0, 18), "too large: a.pdf: ");
  tool("pdftotext", "cat >/dev/null; echo 'xref 7 not found' >&2; exit 1");
  EXPECT_EQ(refusal(kPdf, "a.pdf").substr(0, 19), "unreadable: a.pdf: ");
}

TEST_F(Converter, ToolsWriteNothingReadNoSecretsAndHaveNoSockets) {
  const std::string secret = other_.write("secret", "do not read").string();
  const std::string sockets =
      "import socket\ntry:\n socket.socket()\n print('socket made.')\nexcept OSError:\n pass\n";
  const std::string script = tools_.write("sockets.py", sockets).string();
  tool("pdftotext", "cat >/dev/null; for f in " + other_.path().string() +
                        "/new /tmp/longhaul-new /dev/shm/longhaul-new "
                        "$HOME/longhaul-new ./longhaul-new " +
                        tools_.path().string() +
                        "/new; do\n"
                        "  (echo x > $f) 2>/dev/null && echo wrote $f.\ndone\n"
                        "(mkdir /tmp/longhaul-folder) 2>/dev/null && echo made a folder.\n"
                        "(rm " +
                        secret +
                        ") 2>/dev/null && echo removed it.\n"
                        "cat " +
                        secret +
                        " /etc/passwd /proc/1/environ 2>/dev/null && echo read it.\n"
                        "(kill -9 " +
                        std::to_string(getpid()) +
                        ") 2>/dev/null && echo killed.\n"
                        "python3 " +
                        script + "\necho The end.");
  start();
  const std::string text = refusal(kPdf, "a.pdf");
  EXPECT_NE(text.find("The end."), std::string::npos) << text;
  for (const char* sign : {"wrote", "made", "removed", "do not read", "root:", "killed"}) {
    EXPECT_EQ(text.find(sign), std::string::npos) << text;
  }
  EXPECT_FALSE(std::filesystem::exists(other_.path() / "new"));
}

TEST_F(Converter, EndlessToolsEndInTime) {
  setenv("LONGHAUL_CONVERT_SECONDS", "0.5", 1);
  tool("pdftotext", "sleep 600");
  start();
  EXPECT_NE(refusal(kPdf, "a.pdf").find("too slow: a.pdf: "), std::string::npos);
  tool("pdftotext", "yes 'an endless text'");  // whichever limit comes first
  EXPECT_EQ(refusal(kPdf, "a.pdf").substr(0, 4), "too ");
  tool("pdftotext", "sleep 600 & sleep 600 & exit 1");
  EXPECT_NE(refusal(kPdf, "a.pdf").find(": a.pdf: "), std::string::npos);
  tool("pdftotext", "cat >/dev/null; echo Text.");
  EXPECT_NE(convert(kPdf).document.text.find("Text."), std::string::npos);
}

TEST_F(Converter, AProcessThatDiesIsTheDocumentsProblemOnly) {
  tool("pdftotext", "cat >/dev/null; kill -9 $PPID; sleep 10");
  start();
  EXPECT_EQ(refusal(kPdf, "a.pdf"),
            "unreadable: a.pdf: the process that converted it was ended by signal 9");
  EXPECT_EQ(convert("plain text\n").document.text, "plain text\n");
}

TEST_F(Converter, SeveralThreadsMayConvert) {
  tool("pdftotext", "cat >/dev/null; sleep 0.1; echo Text.");
  start();
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string& text : texts) {
    threads.emplace_back([this, &text] { text = convert(kPdf).document.text; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_NE(text.find("Text."), std::string::npos);
}

TEST_F(Converter, ReportsThatItHasEnded) {
  start();
  kill(process_->id(), SIGKILL);
  for (int i = 0; i < 1000 && process_->alive(); ++i) usleep(1000);
  EXPECT_FALSE(process_->alive());
  EXPECT_EQ(refusal("text"), "gone");
}

TEST_F(Converter, EndsWithItsOwner) {
  start();
  const pid_t id = process_->id();
  process_.reset();
  EXPECT_EQ(kill(id, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(Converter, EndsConversionsThatRun) {
  tool("pdftotext", "sleep 600");
  start();
  std::string refused;
  std::thread waiting([&] { refused = refusal(kPdf); });
  usleep(300'000);
  process_->end();
  waiting.join();
  EXPECT_EQ(refused, "gone");
}

TEST(ConverterMessages, AnswersSurviveTheTripAndGarbageIsRefused) {
  ConverterAnswer answer;
  answer.document.text = "Héllo";
  answer.document.headings = {{0, "H"}};
  answer.document.made = "HTML";
  answer.warnings = {"w"};
  const std::string bytes = answer.encoded();
  ConverterAnswer read;
  ASSERT_TRUE(read.decode(bytes));
  EXPECT_EQ(read.document.text, "Héllo");
  EXPECT_EQ(read.document.headings.size(), 1u);
  EXPECT_EQ(read.warnings, std::vector<std::string>{"w"});
  for (size_t cut = 0; cut + 6 < bytes.size(); ++cut) {
    ConverterAnswer part;
    EXPECT_FALSE(part.decode(std::string_view(bytes).substr(0, cut))) << cut;
  }
  std::string changed = bytes;
  for (size_t i = 0; i < bytes.size(); ++i) {
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    ConverterAnswer part;
    part.decode(changed);  // must not crash
    changed[i] = bytes[i];
  }
}

}  // namespace
}  // namespace longhaul
