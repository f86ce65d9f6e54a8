// The devices that tests/devices describes: planners are tested against them without owning them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "lanewise/caps.hpp"
#include "tests/support/repository.hpp"

namespace lanewise::test {

struct DescribedDevice {
    std::string name;  // of the file, without its ending
    Caps caps;
};

inline std::string read_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// All of them, by name. One that does not load comes back with Caps that say nothing and a name
// that ends in the error; CapsJson.DescribedDevicesLoad reports it.
inline const std::vector<DescribedDevice>& described_devices() {
    static const std::vector<DescribedDevice> devices = [] {
        std::vector<DescribedDevice> found;
        for (const auto& entry :
             std::filesystem::directory_iterator(repository_root() / "tests" / "devices")) {
            if (entry.path().extension() != ".json") continue;
            auto caps = caps_from_json(read_text(entry.path()));
            std::string name = entry.path().stem().string();
            if (caps) {
                found.push_back({std::move(name), *std::move(caps)});
            } else {
                found.push_back({name + ": " + caps.error().message, Caps{}});
            }
        }
        std::sort(found.begin(), found.end(),
                  [](const auto& a, const auto& b) { return a.name < b.name; });
        return found;
    }();
    return devices;
}

// Caps of one; all default when there is no such file.
inline Caps described(const std::string& name) {
    for (const DescribedDevice& device : described_devices()) {
        if (device.name == name) return device.caps;
    }
    return {};
}

}  // namespace lanewise::test
