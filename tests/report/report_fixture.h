#pragma once
// Results of the records that a test wrote.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "report/results.h"
#include "report/run_maker.h"

namespace longhaul::testing_support {

class ReportFixture : public ::testing::Test {
 protected:
  /// Runs named "0", "1", ...
  const Results& results_of(const std::vector<std::vector<Record>>& runs,
                            const nlohmann::json& info = RunMaker::standard_info()) {
    std::vector<std::filesystem::path> folders;
    for (const auto& records : runs) {
      folders.push_back(maker_.make(std::to_string(folders.size()), records, info));
    }
    runs_ = read_runs(folders);
    results_ = std::make_unique<Results>(runs_);
    return *results_;
  }
  RunMaker maker_;
  std::vector<RunFolder> runs_;
  std::unique_ptr<Results> results_;
};

}  // namespace longhaul::testing_support
