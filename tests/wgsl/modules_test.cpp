// Modules that no kernel includes yet: virtual lanes and ballots.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>
#include <map>
#include <span>

#include "tests/support/repository.hpp"
#include "tests/wgsl/support.hpp"

namespace lanewise::test {
namespace {

constexpr std::uint32_t kWorkgroup = 96;

constexpr const char* kKernel = R"(// A test.
enable subgroups;
// Prologue: of a test.
const LW_FORM_SUBGROUP = 1u;
const LW_SUBGROUP_ID = 0u;
const LW_SUBGROUP_SIZE = 0u;
const kWorkgroupSize = 96u;
// End of the prologue.
@group(0) @binding(0) var<storage, read_write> result: array<vec4<u32>>;
//#include "subgroup/vlane.wgsl"
fn run(lane: Lane, group: Group) {
    let vlane = workgroup_vlane(lane, group).number;
    let ballot = subgroupBallot(lane.in_subgroup % 3u == 0u);
    result[vlane] = vec4<u32>(lane.subgroup, lane.in_subgroup, ballot_end(ballot),
                              ballot_count_below(ballot, lane.in_subgroup) | (ballot_count(ballot) << 16u));
}
)";

std::string assembled(std::uint32_t subgroup_id) {
    static std::map<std::string, std::string, std::less<>> files{{"k.wgsl", kKernel}};
    const auto sources = [](std::string_view name) -> std::optional<std::string_view> {
        auto found = files.find(name);
        if (found == files.end()) {
            std::ifstream file(repository_root() / "kernels" / name, std::ios::binary);
            if (!file) return std::nullopt;
            found = files
                        .emplace(std::string(name),
                                 std::string{std::istreambuf_iterator<char>(file), {}})
                        .first;
        }
        return found->second;
    };
    const auto text =
        wgsl::detail::assemble(sources, "k.wgsl", {.by_name = {{"LW_SUBGROUP_ID", subgroup_id}}});
    EXPECT_TRUE(text) << text.error().message;
    return text ? *text : std::string();
}

class WgslModules : public testing::TestWithParam<std::uint32_t> {};

TEST_P(WgslModules, LanesAreNumbered) {
    if (!has_naga()) GTEST_SKIP() << "naga is not on the PATH";
    struct Lane {
        std::uint32_t subgroup, lane, ballot_end, counts;
        bool operator==(const Lane&) const = default;
    };
    for (const std::uint32_t subgroup_id : {0u, 1u}) {
        const auto module = compile(assembled(subgroup_id));
        ASSERT_FALSE(module.empty());
        for (const simulator::Machine& machine : wgsl_machines(GetParam())) {
            std::vector<Lane> lanes(kWorkgroup);
            std::array<std::uint32_t, 8> parameters{};
            simulator::ShaderRun run;
            run.module = module;
            run.buffers = {
                {.memory = std::as_writable_bytes(std::span(lanes)), .initialized = false},
                {.set = 1, .memory = std::as_writable_bytes(std::span(parameters))}};
            const auto report = run_shader(machine, run);
            ASSERT_TRUE(report) << report.error().message;
            for (const simulator::Fault& fault : report->faults) ADD_FAILURE() << to_text(fault);
            ASSERT_TRUE(std::ranges::is_sorted(lanes, [](const Lane& a, const Lane& b) {
                return std::pair(a.subgroup, a.lane) < std::pair(b.subgroup, b.lane);
            })) << to_text(machine);
            for (const Lane& lane : lanes) {
                std::uint32_t end = 0, count = 0, below = 0, same = 0;
                for (const Lane& other : lanes) {
                    if (other.subgroup != lane.subgroup) continue;
                    same += other.lane == lane.lane ? 1 : 0;
                    if (other.lane % 3 != 0) continue;
                    end = std::max(end, other.lane + 1);
                    ++count;
                    below += other.lane < lane.lane ? 1 : 0;
                }
                ASSERT_EQ(same, 1u) << to_text(machine);
                ASSERT_EQ(lane.ballot_end, end) << to_text(machine);
                ASSERT_EQ(lane.counts, below | count << 16) << to_text(machine);
            }
        }
    }
}

TEST_P(WgslModules, TintTakesThem) {
    if (!has_tint()) GTEST_SKIP() << "tint is not on the PATH";
    for (const std::uint32_t subgroup_id : {0u, 1u})
        EXPECT_EQ(tint_says(assembled(subgroup_id)), "");
}

INSTANTIATE_TEST_SUITE_P(Sizes, WgslModules, testing::Values(4u, 8u, 16u, 32u, 64u, 128u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace lanewise::test
