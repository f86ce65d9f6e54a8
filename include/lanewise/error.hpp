// How Lanewise reports failure: every call that can fail returns Result<T>. The library throws
// nothing, prints nothing and aborts nowhere.
#pragma once

#include <memory>
#include <string>
#include <tl/expected.hpp>

namespace lanewise {

struct Caps;

enum class ErrorCode {
    bad_argument,    // the call cannot be meant: missing buffer, misaligned offset, unknown name
    unsupported,     // this device lacks something that the request needs; the message names it
    limit_exceeded,  // the request is larger than a limit; the message gives both values
    out_of_memory,   // host or device memory ran out; the message gives the bytes wanted
    device_lost,     // the device is gone: every later call on it answers this at once
    compile_failed,  // the driver refused a pipeline; `retry_caps` leaves out what failed
    io,              // a file could not be read or written
};

// Stable lower-case name, e.g. "limit_exceeded".
const char* to_text(ErrorCode code);

struct Error {
    ErrorCode code = ErrorCode::bad_argument;
    // One line: what is wrong, with the values, and what to do about it.
    std::string message;
    // Set by Device::compile when planning again with these Caps may succeed (a lower tier).
    std::shared_ptr<const Caps> retry_caps;
};

template <class T>
using Result = tl::expected<T, Error>;

}  // namespace lanewise
