#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "attention/method_run.h"
#include "base/byte_stream.h"
#include "format/temp_folder.h"

namespace longhaul::testing_support {

/// Saves the state of `run` to a file and restores it in `next`, which continues from there.
inline void move_through_file(const MethodRun& run, MethodRun& next) {
  const TempFolder folder;
  {
    ByteWriter out(folder.path() / "run");
    run.method.save(out);
    run.store.save(out);
    out.finish();
  }
  ByteReader in(folder.path() / "run");
  next.method.restore(in);
  next.store.restore(in);
  EXPECT_EQ(in.remaining(), 0u);
  next.ids = run.ids;
  next.done = run.done;
  for (size_t l = 0; l < run.out.size(); ++l) {
    const int64_t width = run.shape.heads * run.shape.head_dim;
    std::copy_n(run.out[l].begin(), run.done * width, next.out[l].begin());
  }
}

}  // namespace longhaul::testing_support
