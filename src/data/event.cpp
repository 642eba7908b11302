#include "allm/event.hpp"

#include "data/names.hpp"

namespace allm {

std::string_view to_string(Mode mode) { return enum_name(mode); }
std::string_view to_string(EventTag tag) { return enum_name(tag); }

Event::Event(const Event& other) : tag_(other.tag_) {
  dispatch(tag_, [&]<class T>() { construct<T>(other.stored<T>()); });
}

Event::Event(Event&& other) noexcept : tag_(other.tag_) { take(other); }

Event& Event::operator=(const Event& other) {
  if (this != &other) *this = Event(other);
  return *this;
}

Event& Event::operator=(Event&& other) noexcept {
  if (this == &other) return *this;
  // A consumer reads one text delta after the other into the same event.
  if (tag_ == EventTag::text_delta && other.tag_ == EventTag::text_delta) {
    slot<TextDelta>() = std::move(other.slot<TextDelta>());
    return *this;
  }
  destroy();
  tag_ = other.tag_;
  take(other);
  return *this;
}

Event::~Event() { destroy(); }

bool Event::operator==(const Event& other) const {
  return tag_ == other.tag_ && dispatch(tag_, [&]<class T>() { return stored<T>() == other.stored<T>(); });
}

void Event::destroy() {
  if (tag_ == EventTag::text_delta) {
    slot<TextDelta>().~TextDelta();
    return;
  }
  dispatch(tag_, [this]<class T>() {
    if constexpr (kBoxed<T>) {
      delete slot<T>();
    } else {
      slot<T>().~T();
    }
  });
}

void Event::take(Event& other) {
  if (tag_ == EventTag::text_delta) {
    ::new (static_cast<void*>(storage_)) TextDelta(std::move(other.slot<TextDelta>()));
    return;
  }
  dispatch(tag_, [&]<class T>() {
    static_assert(alignof(T) <= alignof(void*) && std::is_nothrow_move_constructible_v<T>);
    if constexpr (kBoxed<T>) {
      ::new (static_cast<void*>(storage_)) T*(std::exchange(other.slot<T>(), nullptr));
    } else {
      ::new (static_cast<void*>(storage_)) T(std::move(other.slot<T>()));
    }
  });
}

}  // namespace allm
