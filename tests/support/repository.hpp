// Where the files of the repository are while its tests run.
#pragma once

#include <filesystem>

namespace lanewise::test {

// This header is two folders below the root of the repository.
inline std::filesystem::path repository_root() {
    return std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
}

}  // namespace lanewise::test
