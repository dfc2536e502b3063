// A conversation with one profd, written down as straight code: `co_await control.Get(session)`. Asked
// directly, the answer is there at once; as one of many nodes the conversation is put aside until others have
// brought it (client/fleet).
#pragma once

#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "base/status.h"
#include "client/node/exchange.h"

namespace google::protobuf {
class MessageLite;
}

namespace profd::client {

// What a conversation ends with. Begins with Start(), Now() or another conversation that awaits it.
// **Owns:** its frame. References among a conversation's parameters must outlive it.
template <typename T>
class [[nodiscard]] Asking {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct promise_type {
    std::optional<T> value;
    std::coroutine_handle<> waiter;

    Asking get_return_object() { return Asking(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(Handle ended) noexcept {
        return ended.promise().waiter ? ended.promise().waiter : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_value(T ended_with) { value.emplace(std::move(ended_with)); }
    [[noreturn]] void unhandled_exception() { std::terminate(); }
  };

  Asking(Asking&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Asking& operator=(Asking&&) = delete;
  ~Asking() {
    if (handle_) handle_.destroy();
  }

  // Until it waits for an answer, or has ended.
  void Start() { handle_.resume(); }
  bool has_ended() const { return handle_.done(); }
  T Take() { return std::move(*handle_.promise().value); }
  // Of one that is asked directly.
  T Now() {
    Start();
    PROFD_CHECK(has_ended());
    return Take();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) noexcept {
    handle_.promise().waiter = waiter;
    return handle_;
  }
  T await_resume() { return Take(); }

 private:
  explicit Asking(Handle handle) : handle_(handle) {}
  Handle handle_;
};

// One call and its answer.
template <typename Reply>
class [[nodiscard]] Asked {
 public:
  // Asked directly.
  explicit Asked(base::Result<Reply> answer) : answer_(std::move(answer)) {}
  // Others ask: `read` takes the answer apart.
  using Read = std::function<base::Status(const Exchange::Call&, google::protobuf::MessageLite*)>;
  Asked(Exchange* exchange, Exchange::Call call, Read read) : exchange_(exchange), read_(std::move(read)) {
    exchange_->call = std::move(call);
  }

  // Of a client that asks directly.
  base::Result<Reply> Now() && {
    PROFD_CHECK(answer_.has_value());
    return std::move(*answer_);
  }

  bool await_ready() const noexcept { return answer_.has_value(); }
  void await_suspend(std::coroutine_handle<> waiting) noexcept { exchange_->waiting = waiting; }
  base::Result<Reply> await_resume() {
    if (answer_) return std::move(*answer_);
    Reply reply;
    PROFD_RETURN_IF_ERROR(read_(*exchange_->call, &reply));
    return reply;
  }

 private:
  std::optional<base::Result<Reply>> answer_;
  Exchange* exchange_ = nullptr;
  Read read_;
};

}  // namespace profd::client
