#pragma once
// Samples of the registry's tasks, from the packed data or from a folder of the test.

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "eval/task_run.h"
#include "format/temp_folder.h"

namespace longhaul::testing_support {

inline const EvalData& packed_data() {
  static const EvalData shared;
  return shared;
}

inline std::vector<Sample> samples_of(std::string_view name, const EvalData& from,
                                      int64_t length = 0, int samples = 2) {
  return eval_task(name).make(request_of(from, length, samples));
}

/// `name` may contain a subfolder.
inline void write_file(const TempFolder& folder, const std::string& name, const std::string& text) {
  const std::filesystem::path path = folder.path() / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace longhaul::testing_support
