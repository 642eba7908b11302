// Objects of the whole program and of a thread that are never used after their end.
//
// Threads of the program may be in a call of allm while main returns, and the destructors of the program's own static
// objects may call allm. So allm has no static object with a destructor: what is made once is never destroyed. It stays
// reachable through its reference, so leak checkers do not report it.
#pragma once

#include <utility>

namespace allm {

// To be used as `static const Json& none = immortal<Json>(nullptr);`.
template <class T, class... Arguments>
T& immortal(Arguments&&... arguments) {
  return *new T(std::forward<Arguments>(arguments)...);
}

// An object for each thread, made at its first use and destroyed when the thread ends. Destructors of the thread's own
// objects that run later, as those of static objects do on the main thread, get a new one, which is never destroyed.
template <class T>
T& thread_instance() {
  thread_local T* instance = nullptr;
  if (instance == nullptr) {
    struct Owner {
      explicit Owner(T** owned_place) : place(owned_place) {}
      Owner(const Owner&) = delete;
      Owner& operator=(const Owner&) = delete;
      ~Owner() { delete std::exchange(*place, nullptr); }
      T** place;
    };
    instance = new T();
    thread_local const Owner owner(&instance);
  }
  return *instance;
}

}  // namespace allm
