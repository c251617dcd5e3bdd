#include "eval/data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/error.h"
#include "base/paths.h"
#include "base/program_folders.h"
#include "base/regular_file.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestFile = size_t{1} << 30;
constexpr std::string_view kPacked = ".gz";

/// Names come from our own tasks, but a test or a later caller must not leave the folder.
bool stays_inside(std::string_view name) {
  const fs::path path{std::string(name)};
  if (path.empty() || path.is_absolute()) return false;
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

struct CloseGzip {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

}  // namespace

std::vector<std::filesystem::path> data_folders() {
  std::vector<fs::path> folders;
  const auto add = [&](const fs::path& folder) {
    if (is_folder(folder / "books")) folders.push_back(folder);
  };
  if (const char* given = std::getenv("LONGHAUL_DATA"); given != nullptr && is_folder(given)) {
    folders.emplace_back(given);
  }
  for (const fs::path& folder : program_folders()) add(folder / "data");
  return folders;
}

std::string read_packed_file(const std::filesystem::path& path) {
  // gzread passes plain files through.
  if (is_folder(path)) user_error("{}: is a folder, a file is expected", path.string());
  size_t packed_bytes = 0;
  const int opened = open_regular_file(path, &packed_bytes);
  const std::unique_ptr<gzFile_s, CloseGzip> file(gzdopen(opened, "rb"));
  if (!file) {
    close(opened);
    user_error("{}: {}", path.string(), std::strerror(errno));
  }
  std::string text;
  constexpr size_t kStep = 1 << 18;
  for (;;) {
    const size_t held = text.size();
    text.resize(held + kStep);
    const int got = gzread(file.get(), text.data() + held, kStep);
    if (got < 0) {
      int code = 0;
      user_error("{}: damaged: {}", path.string(), gzerror(file.get(), &code));
    }
    text.resize(held + static_cast<size_t>(got));
    if (text.size() > kLargestFile) user_error("{}: larger than 1 GiB", path.string());
    if (static_cast<size_t>(got) < kStep) break;
  }
  int code = Z_OK;
  gzerror(file.get(), &code);
  if (code == Z_BUF_ERROR) user_error("{}: damaged: it ends too early", path.string());
  return text;
}

EvalData::EvalData(const std::filesystem::path& extra) : folders_(data_folders()) {
  if (extra.empty()) return;
  if (!is_folder(extra)) user_error("--data {}: no such folder", extra.string());
  folders_.insert(folders_.begin(), extra);
}

std::filesystem::path EvalData::find(std::string_view name) const {
  if (!stays_inside(name)) return {};
  for (const fs::path& folder : folders_) {
    const fs::path plain = folder / name;
    if (is_file(plain)) return plain;
    const fs::path packed = plain.string() + std::string(kPacked);
    if (is_file(packed)) return packed;
  }
  return {};
}

bool EvalData::has(std::string_view name) const { return !find(name).empty(); }

const std::string& EvalData::text(std::string_view name) const {
  if (const auto known = texts_.find(name); known != texts_.end()) return *known->second;
  const fs::path path = find(name);
  if (path.empty()) {
    std::vector<std::string> looked;
    for (const fs::path& folder : folders_) looked.push_back(folder.string());
    user_error(
        "data file {} is not there (looked in: {}); name the folder that holds it with "
        "--data DIR",
        name, looked.empty() ? "nowhere" : fmt::format("{}", fmt::join(looked, ", ")));
  }
  auto text = std::make_unique<std::string>(read_packed_file(path));
  return *texts_.emplace(std::string(name), std::move(text)).first->second;
}

}  // namespace longhaul
