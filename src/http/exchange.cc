#include "http/exchange.h"

#include <utility>

namespace longhaul::http {

void Exchange::reply(HttpResponse response) {
  if (answered_.exchange(true)) return;
  response.fields.insert(response.fields.end(), reply_fields.begin(), reply_fields.end());
  way_.reply(std::move(response));
}

std::shared_ptr<EventStream> Exchange::stream(std::string content_type) {
  auto events = std::make_shared<EventStream>(way_.stream_bytes);
  if (answered_.exchange(true)) {
    events->close();
    return events;
  }
  HttpResponse header;
  header.content_type = std::move(content_type);
  header.fields = reply_fields;
  header.fields.emplace_back("Cache-Control", "no-cache");
  header.fields.emplace_back("X-Accel-Buffering", "no");  // otherwise nginx buffers events
  way_.stream(std::move(header), events);
  return events;
}

void Exchange::on_close(std::function<void()> gone) {
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      gone_ = std::move(gone);
      return;
    }
  }
  gone();
}

void Exchange::close() {
  std::function<void()> gone;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    gone = std::exchange(gone_, nullptr);
  }
  if (gone) gone();
}

void Exchange::set_note(std::string note) {
  const std::lock_guard lock(mutex_);
  note_ = std::move(note);
}

std::string Exchange::note() {
  const std::lock_guard lock(mutex_);
  return note_;
}

}  // namespace longhaul::http
