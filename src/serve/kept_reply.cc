#include "serve/reply_streams.h"

namespace longhaul::serve {

/// Sends what the client lacks. A client that reads too slowly waits, and is let go once it lacks
/// bytes that are gone. `all`: also if the client's queue is full.
void KeptReply::serve(Reader& reader, bool all) {
  if (reader.client->closed() || (reader.client->full() && !all)) return;
  if (reader.sent < dropped_) {
    reader.client->finish();
    return;
  }
  const std::string_view rest = std::string_view(bytes_).substr(reader.sent - dropped_);
  if (!rest.empty()) reader.client->send_bytes(rest);
  reader.sent = dropped_ + bytes_.size();
}

void KeptReply::append(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (done_) return;
  bytes_ += bytes;
  for (Reader& reader : readers_) serve(reader, false);
  std::erase_if(readers_, [](const Reader& reader) { return reader.client->closed(); });
  if (bytes_.size() <= most_ + most_ / 4) return;  // moves the bytes once for many events
  const size_t surplus = bytes_.size() - most_;
  bytes_.erase(0, surplus);
  dropped_ += surplus;
}

void KeptReply::end(double now, int64_t at) {
  const std::lock_guard lock(mutex_);
  if (done_) return;
  done_ = true;
  ended_ = now;
  completed_at_ = at;
  for (Reader& reader : readers_) {
    serve(reader, true);
    reader.client->finish();
  }
  readers_.clear();
}

void KeptReply::on_cancel(std::function<void()> cancel) {
  const std::lock_guard lock(mutex_);
  cancel_ = std::move(cancel);
}

void KeptReply::cancel() {
  std::function<void()> cancel;
  {
    const std::lock_guard lock(mutex_);
    cancel = std::exchange(cancel_, nullptr);
  }
  if (cancel) cancel();
}

bool KeptReply::attach(std::shared_ptr<http::EventStream> client, size_t from) {
  const std::lock_guard lock(mutex_);
  if (from < dropped_) return false;
  Reader reader{std::move(client), std::min(from, dropped_ + bytes_.size())};
  serve(reader, true);
  if (done_) {
    reader.client->finish();
  } else {
    readers_.push_back(std::move(reader));
  }
  return true;
}

KeptReply::State KeptReply::state() const {
  const std::lock_guard lock(mutex_);
  return {done_,       dropped_,     dropped_ + bytes_.size(), done_ ? ended_ : now_,
          started_at_, completed_at_};
}

}  // namespace longhaul::serve
