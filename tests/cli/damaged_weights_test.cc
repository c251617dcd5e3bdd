// Weights that are no numbers: every command refuses the model with the same line, and none keeps
// what came of it.

#include <gtest/gtest.h>

#include <cstring>

#include "cli/program.h"
#include "format/checkpoint.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;
using testing_support::has;
using testing_support::Outcome;
using testing_support::Program;
using testing_support::refused;

const fs::path kDamagedModel = LONGHAUL_TEST_DATA "/tiny_models/gguf/llama_linear.gguf";
constexpr uint16_t kNan = 0x7e00;  // in F16

/// A copy of the model with one number of a tensor's row that is none.
fs::path damaged(const Program& program, const std::string& tensor, int64_t row) {
  const fs::path copy = program.folder().path() / "damaged.gguf";
  fs::copy_file(kDamagedModel, copy, fs::copy_options::overwrite_existing);
  const Checkpoint checkpoint = open_checkpoint(kDamagedModel);
  const TensorView& t = checkpoint.get(tensor);
  EXPECT_EQ(t.type, DType::F16);
  const auto offset = t.row(row) - checkpoint.bytes_of_file(0).data();
  std::fstream file(copy, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file.write(reinterpret_cast<const char*>(&kNan), sizeof kNan);
  return copy;
}

TEST(DamagedWeights, EveryCommandRefusesThemWithOneLine) {
  Program program;
  const fs::path model = damaged(program, "blk.1.ffn_down.weight", 3);
  const fs::path text = program.folder().write("t.txt", std::string(300, 'a'));
  const fs::path saved = program.folder().path() / "a.session";
  const auto refuses = [&](const Program::Arguments& arguments) {
    return refused(program.run(arguments), {"the model gives no finite logit"});
  };
  EXPECT_TRUE(refuses({"run", "-m", model, "--raw", "-p", "a", "-n", "2"}));
  EXPECT_TRUE(refuses({"perplexity", "-m", model, text, "--ctx", "64"}));
  EXPECT_TRUE(refuses({"perplexity", "-m", model, text, "--ctx", "64", "--json"}));
  EXPECT_TRUE(refuses({"perplexity", "-m", model, text, "--ctx", "64", "--prefill", "32"}));
  EXPECT_TRUE(refuses({"run", "-m", model, "--raw", "-p", "a", "-n", "0", "--save", saved}));
  EXPECT_FALSE(fs::exists(saved));
}

/// The embedding is the output matrix here: a row that no token of the prompt has gives its token a
/// logit that is no number.
TEST(DamagedWeights, OneRowOfTheEmbeddingIsFound) {
  Program program;
  const fs::path model = damaged(program, "token_embd.weight", 200);
  EXPECT_TRUE(refused(program.run({"run", "-m", model, "--raw", "-p", "a", "-n", "2"}),
                      {"the model gives no finite logit"}));
}

/// A window may have let the damaged row go before the last token.
TEST(DamagedWeights, ARowOfTheEmbeddingThatIsReadIsNamed) {
  Program program;
  const Outcome tokens = program.run({"tokenize", "-m", kDamagedModel, "b", "--json", "--bare"});
  const int64_t row = tokens.json()["ids"][0].get<int64_t>();
  const fs::path model = damaged(program, "token_embd.weight", row);
  EXPECT_TRUE(refused(program.run({"run", "-m", model, "--raw", "-p", "abaaaaaaaaaa", "-n", "2",
                                   "--attention", "streamingllm:recent=4,sink=0"}),
                      {"damaged.gguf: row " + std::to_string(row) + " of the embedding"}));
}

}  // namespace
}  // namespace longhaul
