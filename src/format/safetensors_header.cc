#include "format/safetensors_header.h"

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.h"
#include "base/seeded_hash.h"
#include "text/printable.h"

namespace longhaul {
namespace {

using Json = nlohmann::json;
constexpr size_t kMostHeaderDims = 32;

/// Handles the parser's events for {"tensor": {"dtype": ..., "shape": [...], "data_offsets":
/// [begin, end]}, "__metadata__": {"key": "text"}}.
class HeaderEvents : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderEvents(const std::string& file) : file_(file) {}
  std::vector<SafetensorsEntry> take() { return std::move(entries_); }

  bool start_object(size_t) override {
    if (depth_ == 0 || (depth_ == 1 && !in_array_)) {
      ++depth_;
      fields_seen_ = 0;
      return true;
    }
    unexpected("an object");
  }

  bool end_object() override {
    if (depth_ == 2 && !in_metadata_) finish_entry();
    --depth_;
    return true;
  }

  bool key(std::string& text) override {
    if (depth_ == 2) {
      field_ = text;
      return true;
    }
    if (!names_.insert(text).second)
      user_error("{}: tensor {} appears twice", file_, printable(text));
    in_metadata_ = text == "__metadata__";
    tensor_ = text;
    field_.clear();
    if (!in_metadata_) {
      entries_.emplace_back();
      entries_.back().name = text;
    }
    return true;
  }

  bool string(std::string& text) override {
    if (in_metadata_ && depth_ == 2) return true;
    if (depth_ != 2 || field_ != "dtype") unexpected("text " + printable(text));
    see(kDtype);
    entries_.back().dtype = text;
    return true;
  }

  bool start_array(size_t) override {
    if (depth_ != 2 || in_array_ || in_metadata_) unexpected("an array");
    if (field_ == "shape") {
      see(kShape);
    } else if (field_ == "data_offsets") {
      see(kOffsets);
    } else {
      unexpected("an array");
    }
    in_array_ = true;
    offsets_seen_ = 0;
    return true;
  }

  bool end_array() override {
    in_array_ = false;
    if (field_ == "data_offsets" && offsets_seen_ != 2) {
      user_error("{}: tensor {}: data_offsets has {} numbers instead of 2", file_,
                 printable(tensor_), offsets_seen_);
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_array_) unexpected("a number");
    SafetensorsEntry& entry = entries_.back();
    if (field_ == "shape") {
      if (value > static_cast<uint64_t>(INT64_MAX)) {
        user_error("{}: tensor {}: dimension {} is too large", file_, printable(tensor_), value);
      }
      if (entry.shape.size() == kMostHeaderDims) {
        user_error("{}: tensor {} has more than {} dimensions", file_, printable(tensor_),
                   kMostHeaderDims);
      }
      entry.shape.push_back(static_cast<int64_t>(value));
    } else {
      if (offsets_seen_ < 2) (offsets_seen_ == 0 ? entry.begin : entry.end) = value;
      ++offsets_seen_;
    }
    return true;
  }

  bool number_integer(number_integer_t value) override {
    unexpected(fmt::format("the number {}", value));
  }
  bool number_float(number_float_t, const string_t& text) override {
    unexpected("the number " + printable(text));
  }
  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool binary(binary_t&) override { unexpected("binary data"); }

  bool parse_error(size_t position, const std::string&, const Json::exception&) override {
    user_error("{}: its header is no JSON (byte {} of the header)", file_, position);
  }

 private:
  enum Field : unsigned { kDtype = 1, kShape = 2, kOffsets = 4, kAll = 7 };

  [[noreturn]] void unexpected(const std::string& what) const {
    if (tensor_.empty()) user_error("{}: its header is no JSON object but {}", file_, what);
    user_error("{}: header of tensor {}: unexpected {} at {}", file_, printable(tensor_), what,
               printable(field_));
  }

  void see(Field field) {
    if ((fields_seen_ & field) != 0) {
      user_error("{}: tensor {} gives {} twice", file_, printable(tensor_), printable(field_));
    }
    fields_seen_ |= field;
  }

  void finish_entry() {
    if (fields_seen_ == kAll) return;
    const char* absent = (fields_seen_ & kDtype) == 0   ? "dtype"
                         : (fields_seen_ & kShape) == 0 ? "shape"
                                                        : "data_offsets";
    user_error("{}: tensor {} has no {}", file_, printable(tensor_), absent);
  }

  const std::string& file_;
  std::vector<SafetensorsEntry> entries_;
  std::unordered_set<std::string, SeededHash> names_;
  std::string tensor_;
  std::string field_;
  int depth_ = 0;  ///< 1 inside the header, 2 inside a tensor's object
  int offsets_seen_ = 0;
  unsigned fields_seen_ = 0;
  bool in_array_ = false;
  bool in_metadata_ = false;
};

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view json,
                                                       const std::string& file) {
  HeaderEvents events(file);
  Json::sax_parse(json, &events);
  return events.take();
}

}  // namespace longhaul
