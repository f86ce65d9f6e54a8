// Public calls promise to throw nothing.
#pragma once

#include <fmt/format.h>

#include <new>
#include <string_view>

#include "lanewise/error.hpp"

namespace lanewise::detail {

// What the standard library throws when host memory runs out becomes an error here.
template <class Body>
auto without_throwing(std::string_view doing, Body body) -> decltype(body()) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return tl::unexpected(
            Error{ErrorCode::out_of_memory, fmt::format("{} failed: host memory ran out", doing)});
    }
}

}  // namespace lanewise::detail
