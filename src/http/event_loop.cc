#include "http/event_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "http/sockets.h"

namespace longhaul::http {
namespace {

/// Runs a task repeatedly. It lives as long as its timer is pending.
struct Repeated : std::enable_shared_from_this<Repeated> {
  Repeated(boost::asio::io_context& context, std::chrono::milliseconds wait,
           std::function<bool()> work)
      : timer(context), period(wait), task(std::move(work)) {}

  void wait() {
    timer.expires_after(period);
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error && self->task()) self->wait();
    });
  }

  boost::asio::steady_timer timer;
  std::chrono::milliseconds period;
  std::function<bool()> task;
};

}  // namespace

EventLoop::EventLoop() : sockets_(std::make_unique<Sockets>()) {}
EventLoop::~EventLoop() = default;

void EventLoop::run() {
  const auto guard = boost::asio::make_work_guard(sockets_->context);
  sockets_->context.run();
}

void EventLoop::stop() { sockets_->context.stop(); }

void EventLoop::post(std::function<void()> task) {
  boost::asio::post(sockets_->context, std::move(task));
}

void EventLoop::every(std::chrono::milliseconds period, std::function<bool()> task) {
  std::make_shared<Repeated>(sockets_->context, period, std::move(task))->wait();
}

}  // namespace longhaul::http
