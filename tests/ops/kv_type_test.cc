#include "ops/attention/kv_type.h"

#include <gtest/gtest.h>

namespace longhaul {
namespace {

TEST(KvType, NamesAreReadAsTheyAreWritten) {
  for (const KvType& type : {KvType(DType::F32), KvType(DType::Q4_0), KvType(),
                             KvType(DType::Q8_0, DType::Q4_0), KvType(DType::F16, DType::F32)}) {
    EXPECT_EQ(kv_type_from_name(name_of(type)), type) << name_of(type);
    EXPECT_EQ(kv_type_from_name(flag_of(type)), type) << flag_of(type);
  }
  EXPECT_EQ(name_of(KvType(DType::Q8_0)), "Q8_0");  // the form in session files
  EXPECT_EQ(name_of({DType::Q8_0, DType::Q4_0}), "k=Q8_0,v=Q4_0");
  EXPECT_EQ(flag_of({DType::Q8_0, DType::Q4_0}), "k=q8_0,v=q4_0");
}

TEST(KvType, EitherSideMayBeNamedAlone) {
  EXPECT_EQ(kv_type_from_name("v=q4_0"), KvType(DType::BF16, DType::Q4_0));
  EXPECT_EQ(kv_type_from_name("v=f32,k=F16"), KvType(DType::F16, DType::F32));
}

TEST(KvType, WhatIsNoneHasNone) {
  for (const char* text : {"", "q4_1", "Q4_K", "k=", "k=q8_0,k=q8_0", "q8_0,q4_0", "k=q8_0,q4_0",
                           "k=q8_0;v=q4_0", "x=q8_0", "kv=q8_0", "=q8_0", "k", ","}) {
    EXPECT_FALSE(kv_type_from_name(text)) << text;
  }
}

TEST(KvType, BlocksWantWholeBlocks) {
  EXPECT_TRUE(KvType(DType::Q4_0).holds(96));
  EXPECT_FALSE(KvType(DType::Q4_0).holds(80));
  EXPECT_FALSE(KvType(DType::F16, DType::Q8_0).holds(80));
  EXPECT_FALSE(KvType(DType::Q8_0, DType::F16).holds(80));
  EXPECT_TRUE(KvType(DType::F16).holds(80));
}

}  // namespace
}  // namespace longhaul
