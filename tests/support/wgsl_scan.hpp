// What tests look for in a text of WGSL.
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace lanewise::test {

// Without comments to the ends of lines, the only ones that our kernels have.
inline std::string without_comments(std::string_view wgsl) {
    std::string code;
    while (!wgsl.empty()) {
        const std::size_t end = wgsl.find('\n');
        const std::string_view line = wgsl.substr(0, end);
        code += line.substr(0, line.find("//"));
        code += '\n';
        wgsl.remove_prefix(end == std::string_view::npos ? wgsl.size() : end + 1);
    }
    return code;
}

// Whether it calls a built-in function of subgroups or takes a built-in value of them. Our own
// functions are named in snake_case: subgroup_..., WGSL's begin with subgroup or quad and a
// capital.
inline bool has_subgroup_operations(std::string_view wgsl) {
    const std::string code = without_comments(wgsl);
    for (const std::string_view value : {"builtin(subgroup_", "builtin(num_subgroups"})
        if (code.find(value) != std::string::npos) return true;
    for (const std::string_view start : {"subgroup", "quad"}) {
        for (std::size_t at = code.find(start); at != std::string::npos;
             at = code.find(start, at + 1)) {
            const std::size_t behind = at + start.size();
            const auto letter = [&](std::size_t i) {
                return i < code.size() ? static_cast<unsigned char>(code[i]) : 0;
            };
            const bool starts =
                at == 0 || (std::isalnum(letter(at - 1)) == 0 && code[at - 1] != '_');
            if (starts && std::isupper(letter(behind)) != 0) return true;
        }
    }
    return false;
}

}  // namespace lanewise::test
