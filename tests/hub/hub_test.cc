// Reading of a hub's answers and the choice of files, without a server.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/error_of.h"
#include "hub/choose_files.h"
#include "hub/http.h"
#include "hub/model_reference.h"
#include "hub/repository.h"
#include "hub/sha256.h"

namespace longhaul {
namespace {

using testing_support::error_of;
using testing_support::has;

std::string sha256_of(const std::string& text, size_t piece) {
  Sha256 hash;
  for (size_t at = 0; at < text.size(); at += piece) {
    const std::string part = text.substr(at, piece);
    hash.add(std::as_bytes(std::span(part)));
  }
  return hash.hex();
}

/// The examples of FIPS 180-4, in pieces of any size.
TEST(Sha256, EqualsThePublishedDigests) {
  for (const size_t piece : {1, 7, 64, 1000}) {
    EXPECT_EQ(sha256_of("", piece),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_of("abc", piece),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", piece),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256_of(std::string(100'000, 'a') + std::string(900'000, 'a'), 1000),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

TEST(ModelReference, NamesRepositoriesPagesAndUrls) {
  unsetenv("HF_ENDPOINT");
  EXPECT_FALSE(parse_reference("model.gguf"));
  EXPECT_FALSE(parse_reference("folder/model.gguf"));
  const auto plain = parse_reference("hf:some-one/A.Model_2-GGUF");
  EXPECT_EQ(plain->repository, "some-one/A.Model_2-GGUF");
  EXPECT_EQ(plain->choice, "");
  EXPECT_EQ(parse_reference("hf:a/b:Q4_K_M")->choice, "Q4_K_M");
  EXPECT_EQ(parse_reference("https://huggingface.co/a/b")->repository, "a/b");
  const auto file =
      parse_reference("https://huggingface.co/a/b/resolve/main/x/y.gguf?download=true");
  EXPECT_EQ(file->repository, "a/b");
  EXPECT_EQ(file->choice, "x/y.gguf");
  EXPECT_EQ(parse_reference("https://huggingface.co/a/b/resolve/v2/y.gguf")->url,
            "https://huggingface.co/a/b/resolve/v2/y.gguf");
  EXPECT_EQ(parse_reference("https://huggingface.co/folder/y.gguf")->url,
            "https://huggingface.co/folder/y.gguf");
  EXPECT_EQ(parse_reference("http://host/y.gguf")->url, "http://host/y.gguf");
  for (const char* bad : {"hf:", "hf:a", "hf:a/", "hf:../b", "hf:a/b/c", "hf:a b/c"}) {
    EXPECT_TRUE(has(error_of([&] { parse_reference(bad); }), {"OWNER/REPO"})) << bad;
  }
}

const std::string kCommit(40, 'a');
const std::string kAbout =
    R"({"sha":")" + kCommit + R"(","tags":["gguf","license:mit"],"cardData":null})";

std::string file_entry(const std::string& path, int64_t bytes = 10) {
  return R"({"type":"file","path":")" + path + R"(","size":)" + std::to_string(bytes) +
         R"(,"lfs":{"oid":")" + std::string(64, 'b') + R"("}})";
}

HubRepository repository_of(std::initializer_list<std::string> paths) {
  std::string list;
  for (const std::string& path : paths) list += (list.empty() ? "[" : ",") + file_entry(path);
  return read_repository("a/b", kAbout, {list + "]"});
}

TEST(HubRepository, IsReadFromItsAnswers) {
  const HubRepository r = read_repository(
      "a/b", kAbout,
      {R"([{"type":"directory","path":"x","size":0},)" + file_entry("x/m.gguf", 7) + "]",
       R"([{"type":"file","path":"config.json","size":3}])"});
  EXPECT_EQ(r.commit, kCommit);
  EXPECT_EQ(r.licence, "mit");
  ASSERT_EQ(r.files.size(), 2u);
  EXPECT_EQ(r.files[0].path, "x/m.gguf");
  EXPECT_EQ(r.files[0].bytes, 7);
  EXPECT_EQ(r.files[0].sha256, std::string(64, 'b'));
  EXPECT_EQ(r.files[1].sha256, "");
  unsetenv("HF_ENDPOINT");
  EXPECT_EQ(file_url(r, {"x/a b.gguf", 0, ""}),
            "https://huggingface.co/a/b/resolve/" + kCommit + "/x/a%20b.gguf");
}

TEST(HubRepository, RefusesAnswersThatCannotBe) {
  const auto list = [](const std::string& text) {
    return error_of([&] { read_repository("a/b", kAbout, {text}); });
  };
  EXPECT_TRUE(has(error_of([] { read_repository("a/b", "<html>", {}); }), {"a/b", "no JSON"}));
  EXPECT_TRUE(has(error_of([] { read_repository("a/b", R"({"sha":"../x"})", {}); }), {"commit"}));
  EXPECT_TRUE(has(list("{}"), {"list of files"}));
  for (const char* path : {"../x.gguf", "/etc/x", "a//b", "a/./b", ""}) {
    EXPECT_TRUE(has(list("[" + file_entry(path) + "]"), {"cannot be used"})) << path;
  }
  EXPECT_TRUE(has(list(R"([{"type":"file","path":"a","size":"1"}])"), {"cannot be used"}));
  EXPECT_TRUE(has(list(R"([{"type":"file","path":"a","size":-1}])"), {"-1"}));
  EXPECT_TRUE(has(list(R"([{"type":"file","path":"a","size":9223372036854775808}])"), {"9223"}));
  for (const char* path :
       {R"(a\nb.gguf)", R"(a\u001b[2J.gguf)", R"(a\u202eb.gguf)", R"(a\u2028b)"}) {
    EXPECT_TRUE(has(list("[" + file_entry(path) + "]"), {"cannot be used"})) << path;
  }
  const std::string deep = std::string(10'000, '[') + std::string(10'000, ']');
  EXPECT_TRUE(has(list(deep), {"a/b", "nested deeper"}));
  EXPECT_TRUE(
      has(list(R"([{"type":"file","path":"a","size":1,"lfs":{"oid":"zz"}}])"), {"SHA-256"}));
}

TEST(ChooseFiles, SizesTogetherDoNotOverflow) {
  std::string list;
  for (int i = 1; i < 4; ++i) {
    const std::string name = "m-0000" + std::to_string(i) + "-of-00003.gguf";
    list += (i == 1 ? "[" : ",") + file_entry(name, int64_t{1} << 62);
  }
  const HubRepository r = read_repository("a/b", kAbout, {list + "]"});
  EXPECT_EQ(choose_files(r, "").bytes(), INT64_MAX);
}

TEST(HubRepository, NextPageIsInTheLink) {
  EXPECT_EQ(next_page(R"(<https://h/x?cursor=2>; rel="next")"), "https://h/x?cursor=2");
  EXPECT_EQ(next_page(R"(<https://h/1>; rel="prev", <https://h/3>; rel="next")"), "https://h/3");
  EXPECT_EQ(next_page(R"(<https://h/1>; rel="prev")"), "");
  EXPECT_EQ(next_page("<"), "");
  EXPECT_EQ(next_page(""), "");
}

std::vector<std::string> chosen(const HubRepository& repository, const std::string& choice) {
  std::vector<std::string> names;
  for (const HubFile& file : choose_files(repository, choice).files) names.push_back(file.path);
  return names;
}

TEST(ChooseFiles, ByNameByTypeAndByHabit) {
  using Names = std::vector<std::string>;
  const HubRepository r = repository_of({"README.md", "m-Q8_0.gguf", "m-Q4_K_M.gguf",
                                         "m-Q4_K_S.gguf", "m-IQ2_XS.gguf", "mmproj-m-F16.gguf"});
  EXPECT_EQ(chosen(r, ""), Names{"m-Q4_K_M.gguf"});
  EXPECT_EQ(chosen(r, "q8_0"), Names{"m-Q8_0.gguf"});
  EXPECT_EQ(chosen(r, "m-Q4_K_S.gguf"), Names{"m-Q4_K_S.gguf"});
  EXPECT_TRUE(has(error_of([&] { chosen(r, "Q4_K"); }), {"'Q4_K'", "m-Q8_0.gguf"}));
  EXPECT_EQ(chosen(r, "IQ2_XS"), Names{"m-IQ2_XS.gguf"});
  EXPECT_EQ(chosen(repository_of({"only.gguf"}), ""), Names{"only.gguf"});
  const HubRepository two = repository_of({"a-Q4_0.gguf", "b-Q4_0.gguf"});
  EXPECT_TRUE(has(error_of([&] { chosen(two, "Q4_0"); }), {"a-Q4_0.gguf", "b-Q4_0.gguf"}));
}

TEST(ChooseFiles, AllShardsOrAFolder) {
  using Names = std::vector<std::string>;
  const HubRepository shards = repository_of(
      {"Q8_0/m-00001-of-00002.gguf", "Q8_0/m-00002-of-00002.gguf", "Q4_0/m-00001-of-00001.gguf"});
  EXPECT_EQ(chosen(shards, "Q8_0"),
            (Names{"Q8_0/m-00001-of-00002.gguf", "Q8_0/m-00002-of-00002.gguf"}));
  const HubRepository folder = repository_of({"config.json", "model.safetensors", "tokenizer.json",
                                              "pytorch_model.bin", "original/model.safetensors"});
  EXPECT_TRUE(choose_files(folder, "").folder);
  EXPECT_EQ(chosen(folder, ""), (Names{"config.json", "model.safetensors", "tokenizer.json"}));
  EXPECT_TRUE(has(error_of([&] { chosen(folder, "Q8_0"); }), {"no GGUF"}));
  EXPECT_TRUE(has(error_of([] { chosen(repository_of({"pytorch_model.bin"}), ""); }), {"neither"}));
}

}  // namespace
}  // namespace longhaul
