#include "http/multipart.h"

#include <gtest/gtest.h>

namespace longhaul::http {
namespace {

constexpr const char* kType = "multipart/form-data; boundary=XyZ";

TEST(Multipart, ReadsFilesAndValues) {
  const std::string body =
      "--XyZ\r\nContent-Disposition: form-data; name=\"attention\"\r\n\r\nduo\r\n"
      "--XyZ\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a \\\"b\\\"; c.pdf\"\r\n"
      "Content-Type: application/pdf\r\n\r\n%PDF\r\n--XyY\r\n\r\n\r\n--XyZ--\r\n";
  const FormBody form = read_form(kType, body);
  EXPECT_EQ(form.problem, "");
  ASSERT_EQ(form.parts.size(), 2u);
  EXPECT_EQ(form.parts[0].name, "attention");
  EXPECT_EQ(form.parts[0].bytes, "duo");
  EXPECT_FALSE(form.parts[0].is_file);
  EXPECT_EQ(form.parts[1].name, "file");
  EXPECT_EQ(form.parts[1].filename, "a \"b\"; c.pdf");
  EXPECT_TRUE(form.parts[1].is_file);
  EXPECT_EQ(form.parts[1].bytes, "%PDF\r\n--XyY\r\n\r\n");
}

TEST(Multipart, AcceptsAPreambleAQuotedBoundaryAndNoParts) {
  const char* quoted = "multipart/form-data; charset=utf-8; boundary=\"a b\"";
  EXPECT_EQ(read_form(quoted, "hello\r\n--a b--").problem, "");
  const FormBody form =
      read_form(quoted, "x\r\n--a b \r\nContent-Disposition: form-data; name=n\r\n\r\n\r\n--a b--");
  EXPECT_EQ(form.problem, "");
  ASSERT_EQ(form.parts.size(), 1u);
  EXPECT_EQ(form.parts[0].name, "n");
  EXPECT_EQ(form.parts[0].bytes, "");
}

TEST(Multipart, RefusesBrokenBodies) {
  const std::string header = "Content-Disposition: form-data; name=\"a\"\r\n\r\n";
  for (const std::string& body : {
           std::string(),
           std::string("--XyZ"),
           std::string("--Xy"),
           "--XyZ\r\n" + header + "no end",
           "--XyZ\r\n" + header + "no end\r\n--Xy",
           std::string("--XyZ\r\n\r\nno header\r\n--XyZ--"),
           std::string("--XyZ\r\nContent-Disposition: form-data\r\n\r\n1\r\n--XyZ--"),
           std::string("--XyZ\r\nContent-Disposition: form-data; name=\"a\r\n\r\n1\r\n--XyZ--"),
           "--XyZtrailing\r\n" + header + "1\r\n--XyZ--",
           "--XyZ\r\nX: " + std::string(9000, 'a') + "\r\n" + header + "1\r\n--XyZ--",
       }) {
    EXPECT_NE(read_form(kType, body).problem, "") << body.substr(0, 80);
  }
  EXPECT_NE(read_form("multipart/form-data", "--\r\n").problem, "");
  EXPECT_NE(read_form("multipart/form-data; boundary=", "--\r\n").problem, "");
  std::string many;
  for (int i = 0; i < 65; ++i) many += "--XyZ\r\n" + header + "1\r\n";
  EXPECT_NE(read_form(kType, many + "--XyZ--").problem, "");
}

}  // namespace
}  // namespace longhaul::http
