// A thread of ours, or a refusal that says what it was for.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"

namespace octavo {

/** Starts `body`. `purpose` completes "no thread to …". Throws kOutOfMemory where the system gives no thread. */
template <typename Body>
std::thread startThread(const char* purpose, Body&& body) {
  try {
    return std::thread(std::forward<Body>(body));
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::kOutOfMemory, std::string("the system gives no thread to ") + purpose + " (" +
                                             error.code().message() +
                                             "); pass fewer threads, or raise the limit on this process's threads");
  }
}

}  // namespace octavo
