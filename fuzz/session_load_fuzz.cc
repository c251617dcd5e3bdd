// A session file with changed numbers and a correct checksum, for every method. It is refused
// without effect, or the session continues without harm. The first byte of an input selects model
// and method; from 128 on the file is one of version 10, which continues a parent if the method
// lost no row. Each further 11 bytes edit the really saved file: position (2 bytes), kind (1) and
// number (8). Positions count only bytes that are equal for two texts, which describe the file.
// Positions from 32768 on count all bytes.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/byte_stream.h"
#include "base/error.h"
#include "base/parallel.h"
#include "engine/generate.h"
#include "input_file.h"

namespace {

using namespace longhaul;
namespace fs = std::filesystem;

constexpr int64_t kTokens = 61, kParentTokens = 23;

/// Settings under which every method of the registry evicts, ages or looks up.
const std::vector<std::string>& methods() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> specs;
    for (const MethodInfo& info : attention_methods()) {
      for (const SmallSetting& small : info.small) {
        specs.emplace_back(info.name);
        if (!small.options.empty()) specs.back().append(":").append(small.options);
      }
    }
    return specs;
  }();
  return all;
}

const std::shared_ptr<const Engine>& model(size_t which) {
  const auto open = [](const char* name) {
    return Engine::open(fuzzing::source("tests/data/tiny_models") / name);
  };
  static const std::shared_ptr<const Engine> models[] = {open("llama_linear"), open("mistral")};
  return models[which % 2];
}

Session session(uint8_t choice) {
  SessionOptions options;
  options.attention = MethodSpec::parse(methods()[choice / 2 % methods().size()]);
  options.chunk = 16;
  return Session(model(choice), options);
}

std::vector<int32_t> tokens(int64_t count, int64_t text = 0) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>(3 + (i + text) * i % 250));
  return ids;
}

void read(Session& s, int64_t count, int64_t text = 0) {
  PrefillHooks hooks;
  hooks.instruction = std::min<int64_t>(count - 1, 5);
  s.prefill(tokens(count, text), hooks);
}

bool has_parent(uint8_t choice) { return choice >= 128; }

/// The sequence whose rows a file of version 10 leaves out.
Session parent(uint8_t choice, int64_t text = 0) {
  Session s = session(choice);
  PrefillHooks hooks;
  hooks.instruction = 5;
  const std::vector<int32_t> all = tokens(kTokens, text);
  s.prefill(std::span(all).first(kParentTokens), hooks);
  return s;
}

struct Saved {
  std::string file;            ///< without checksum
  std::vector<size_t> common;  ///< positions at which another text's file has the same byte
};

std::string save(uint8_t choice, int64_t text) {
  Session s = session(choice);
  read(s, kTokens, text);
  if (has_parent(choice)) {
    const bool part = s.sequence().can_leave_out();
    s.sequence().save_after(fuzzing::folder() / "saved",
                            part ? SessionParent{kParentTokens, "parent"} : SessionParent{});
  } else {
    s.save(fuzzing::folder() / "saved");
  }
  std::ifstream in(fuzzing::folder() / "saved", std::ios::binary);
  std::string file(std::istreambuf_iterator<char>(in), {});
  file.resize(file.size() - 8);
  return file;
}

const Saved& saved(uint8_t choice) {
  static std::map<uint8_t, Saved> all;
  Saved& made = all[choice];
  if (!made.file.empty()) return made;
  made.file = save(choice, 0);
  const std::string other = save(choice, 7);
  for (size_t i = 0; i < std::min(made.file.size(), other.size()); ++i) {
    if (made.file[i] == other[i]) made.common.push_back(i);
  }
  return made;
}

void edit(std::string& file, const std::vector<size_t>& common, const uint8_t* record) {
  constexpr size_t kAll = 32768;
  size_t at = static_cast<size_t>(record[0]) | (record[1] << 8);
  at = std::min(at < kAll ? common[at % common.size()] : at - kAll, file.size());
  const char* number = reinterpret_cast<const char*>(record) + 3;
  const size_t left = file.size() - at;
  switch (record[2] % 5) {
    case 0:
      return void(file.replace(at, std::min<size_t>(left, 1), number, 1));
    case 1:
      return void(file.replace(at, std::min<size_t>(left, 4), number, 4));
    case 2:
      return void(file.replace(at, std::min<size_t>(left, 8), number, 8));
    case 3:
      return void(file.erase(at, record[3]));
    default:
      return void(file.insert(at, number, 8));
  }
}

/// Uses the session as a user would: reads more, answers, and reads another question about a part
/// of it.
void use(Session& s) {
  for (int i = 0; i < 2; ++i) s.decode(7);
  read(s, 17);
  GenerateOptions options;
  options.max_tokens = 2;
  generate(s, options);
  s.reuse_prefix(tokens(12));
  read(s, 2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  set_thread_count(1);
  const Saved& original = saved(data[0]);
  std::string file = original.file;
  for (size_t at = 1; at + 11 <= size; at += 11) edit(file, original.common, data + at);
  const fs::path path = fuzzing::folder() / "session";
  ByteWriter writer(path);
  writer.bytes(file.data(), file.size());
  writer.finish();
  Session s = session(data[0]);
  try {
    if (has_parent(data[0])) {
      s.sequence().load_after(path, parent(data[0]).sequence());
    } else {
      s.load(path);
    }
  } catch (const UserError& error) {
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();
    if (!s.tokens().empty() || s.store().longest() != 0) std::abort();  // the session is unchanged
    return 0;
  }
  try {
    use(s);
  } catch (const UserError& error) {  // NaN keys give NaN logits
    if (std::strchr(error.what(), '\n') != nullptr) std::abort();
  }
  return 0;
}
