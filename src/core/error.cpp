#include "lanewise/error.hpp"

namespace lanewise {

const char* to_text(ErrorCode code) {
    switch (code) {
        case ErrorCode::bad_argument: return "bad_argument";
        case ErrorCode::unsupported: return "unsupported";
        case ErrorCode::limit_exceeded: return "limit_exceeded";
        case ErrorCode::out_of_memory: return "out_of_memory";
        case ErrorCode::device_lost: return "device_lost";
        case ErrorCode::compile_failed: return "compile_failed";
        case ErrorCode::io: return "io";
    }
    return "unknown";
}

}  // namespace lanewise
