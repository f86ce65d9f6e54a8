#include "bench/textbook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/data.hpp"
#include "bench/json.hpp"

namespace lanewise::bench {

namespace {

// As bench/textbook_sum.comp has them.
constexpr std::uint32_t kWorkgroupSize = 256;
constexpr std::uint32_t kWorkgroupMemory = kWorkgroupSize * sizeof(float);
constexpr std::uint32_t kTreeBarriers = 9;  // one after the store, one after each of 8 halvings
constexpr std::uint32_t kSubgroupBarriers = 1;
constexpr std::uint32_t kItems[] = {1, 16};

// Ratios closer to 1 than this are called none.
constexpr double kNoise = 0.03;

constexpr std::uint32_t kMaxGroups = 1u << 24;

const TextbookRow* find(const Textbook& textbook, Form form, std::uint32_t items) {
    for (const TextbookRow& row : textbook.rows) {
        if (row.form == form && row.items == items && row.timing) return &row;
    }
    return nullptr;
}

// How many times faster `fast` is; none where one of them was not timed.
std::optional<double> speed_up(const TextbookRow* slow, const TextbookRow* fast) {
    if (slow == nullptr || fast == nullptr) return std::nullopt;
    return slow->timing->nanoseconds / fast->timing->nanoseconds;
}

std::string gain(double ratio) {
    if (std::abs(ratio - 1.0) <= kNoise) return "nothing";
    return fmt::format("{:.2f}x{}", ratio, ratio < 1.0 ? " (a loss)" : "");
}

class TextbookBench {
public:
    TextbookBench(Session& session, std::uint64_t count) : session_(session), count_(count) {}

    Result<void> prepare() {
        values_ = small_integers(count_);
        const std::uint64_t groups = (count_ + kWorkgroupSize - 1) / kWorkgroupSize;
        for (const auto& [memory, bytes] : {std::pair{&input_, count_ * sizeof(float)},
                                            std::pair{&partials_, groups * sizeof(float)}}) {
            auto made = session_.backend().make_memory(bytes);
            if (!made) return tl::unexpected(made.error());
            *memory = std::move(*made);
        }
        return session_.backend().upload(*input_, std::as_bytes(std::span(values_)));
    }

    Result<TextbookRow> measure(Form form, std::uint32_t items) {
        TextbookRow row;
        row.form = form;
        row.items = items;
        const bool tree = form == Form::barrier;
        row.barriers = tree ? kTreeBarriers : kSubgroupBarriers;
        row.workgroup_memory = kWorkgroupMemory;
        BenchKernel kernel{.pass = "textbook_sum",
                           .variant = fmt::format("{}.x{}", tree ? "tree" : "subgroup", items),
                           .form = form,
                           .workgroup_size = kWorkgroupSize,
                           .tile_items = kWorkgroupSize * items,
                           .one_tile_per_group = true,
                           .workgroup_memory = row.workgroup_memory,
                           .barriers = row.barriers};
        kernel.max_groups = std::min(kMaxGroups, session_.caps().limits.max_groups_x);
        const std::uint64_t groups = (count_ + kernel.tile_items - 1) / kernel.tile_items;
        const Plan plan = bench_plan(session_.caps(), kernel, count_, groups * sizeof(float));
        row.kernel = plan.passes.front().kernel;
        constexpr std::uint32_t kNeeds = SubgroupOperation::basic | SubgroupOperation::arithmetic;
        if (!tree && (session_.caps().subgroup.operations & kNeeds) != kNeeds) {
            row.note = "this device has no subgroup sums";
            return row;
        }

        auto use = session_.backend().prepare(plan,
                                              {.input = {input_.get(), input_->bytes()},
                                               .output = {partials_.get(), groups * sizeof(float)}},
                                              count_);
        if (!use) return tl::unexpected(use.error());
        const auto poisoned = session_.backend().fill(*partials_, 0xdeadbeef);
        if (!poisoned) return tl::unexpected(poisoned.error());
        if (const auto done = session_.backend().run(**use); !done) {
            return tl::unexpected(done.error());
        }
        if (auto right = check(row, kernel.tile_items); !right || row.wrong) {
            return right ? Result<TextbookRow>(row) : tl::unexpected(right.error());
        }
        auto timing = session_.time(**use, count_);
        if (!timing) return tl::unexpected(timing.error());
        if (auto right = check(row, kernel.tile_items); !right) {
            return tl::unexpected(right.error());
        }
        if (!row.wrong) row.timing = *timing;
        return row;
    }

private:
    // Every partial, exactly: the values are small integers.
    Result<void> check(TextbookRow& row, std::uint64_t tile_items) {
        const std::uint64_t groups = (count_ + tile_items - 1) / tile_items;
        std::vector<float> partials(static_cast<std::size_t>(groups));
        const auto done =
            session_.backend().download(*partials_, std::as_writable_bytes(std::span(partials)));
        if (!done) return done;
        for (std::uint64_t group = 0; group < groups; ++group) {
            const std::uint64_t end = std::min(count_, (group + 1) * tile_items);
            float expected = 0.0f;
            for (std::uint64_t i = group * tile_items; i < end; ++i) expected += values_[i];
            if (partials[group] == expected) continue;
            row.wrong = true;
            row.note =
                fmt::format("workgroup {}: expected {}, got {}", group, expected, partials[group]);
            return {};
        }
        return {};
    }

    Session& session_;
    std::uint64_t count_;
    std::vector<float> values_;
    std::unique_ptr<Memory> input_, partials_;
};

}  // namespace

bool Textbook::all_right() const { return std::ranges::none_of(rows, &TextbookRow::wrong); }

Result<Textbook> measure_textbook(Session& session, std::uint64_t count, const Show& show) {
    Textbook textbook;
    textbook.machine = session.machine();
    textbook.count = count;
    auto limits = measure_limits(session, {count * sizeof(float)}, show);
    if (!limits) return tl::unexpected(limits.error());
    textbook.limits = std::move(*limits);
    TextbookBench bench(session, count);
    if (const auto done = bench.prepare(); !done) return tl::unexpected(done.error());
    for (const std::uint32_t items : kItems) {
        for (const Form form : {Form::barrier, Form::subgroup}) {
            show(fmt::format("{} sum, {} items per invocation", to_text(form), items));
            auto row = bench.measure(form, items);
            if (!row) return tl::unexpected(row.error());
            textbook.rows.push_back(std::move(*row));
        }
    }
    return textbook;
}

std::string verdict(const Textbook& textbook) {
    const TextbookRow* tree_1 = find(textbook, Form::barrier, 1);
    const TextbookRow* tree_16 = find(textbook, Form::barrier, 16);
    const TextbookRow* subgroup_1 = find(textbook, Form::subgroup, 1);
    const TextbookRow* subgroup_16 = find(textbook, Form::subgroup, 16);
    const auto at_1 = speed_up(tree_1, subgroup_1);
    const auto at_16 = speed_up(tree_16, subgroup_16);
    const auto tree_gain = speed_up(tree_1, tree_16);
    const auto subgroup_gain = speed_up(subgroup_1, subgroup_16);
    if (!at_1 || !at_16 || !tree_gain || !subgroup_gain) return "";
    std::string text = fmt::format(
        "Here the subgroup sum gained {} over the tree at one item per invocation and {} at "
        "sixteen; sixteen items instead of one gained {} with the tree and {} with subgroups",
        gain(*at_1), gain(*at_16), gain(*tree_gain), gain(*subgroup_gain));
    const double subgroups = std::max(*at_1, *at_16);
    const double items = std::max(*tree_gain, *subgroup_gain);
    if (items > subgroups * (1.0 + kNoise)) {
        text += ": the items per invocation decide more than the subgroup does";
    } else if (subgroups > items * (1.0 + kNoise)) {
        text += ": the subgroup decides more than the items per invocation do";
    }
    return text + ".\n";
}

std::string to_table(const Textbook& textbook) {
    std::string text = machine_to_text(textbook.machine);
    text += fmt::format("\ntextbook: sum of {} f32 in workgroups of {}, a partial each\n",
                        count_to_text(textbook.count), kWorkgroupSize);
    text += fmt::format("{:>10}{:>8}{:>11}{:>9}{:>7}{:>10}{:>10}{:>10}\n", "form", "items",
                        "time us", "GB/s", "read", "speed-up", "barriers", "memory");
    const std::uint64_t bytes = textbook.count * sizeof(float);
    const LimitRow* limit = textbook.limits.empty() ? nullptr : &textbook.limits.front();
    const TextbookRow* first = find(textbook, Form::barrier, 1);
    for (const TextbookRow& row : textbook.rows) {
        const char* form = row.form == Form::barrier ? "tree" : "subgroup";
        if (!row.timing) {
            text += fmt::format("{:>10}{:>8}  {}{}\n", form, row.items, row.wrong ? "WRONG: " : "",
                                row.note);
            continue;
        }
        const auto ratio = speed_up(first, &row);
        text += fmt::format(
            "{:>10}{:>8}{:>11.2f}{:>9.2f}{:>7}{:>10}{:>10}{:>10}\n", form, row.items,
            row.timing->nanoseconds / 1e3, gigabytes_per_second(bytes, *row.timing),
            limit != nullptr && limit->read
                ? fmt::format("{:.0f}%", 100.0 * limit->read->nanoseconds / row.timing->nanoseconds)
                : "-",
            ratio ? fmt::format("{:.2f}x", *ratio) : "-", row.barriers, row.workgroup_memory);
    }
    if (limit != nullptr && limit->read) {
        text +=
            fmt::format("{:>10}{:>8}{:>11.2f}{:>9.2f}\n", "read limit", "",
                        limit->read->nanoseconds / 1e3, gigabytes_per_second(bytes, *limit->read));
    }
    if (limit != nullptr && !limit->note.empty()) text += "note: " + limit->note + "\n";
    text +=
        "items: per invocation. read: share of the read limit. barriers: control barriers that an "
        "invocation meets. memory: workgroup memory, bytes.\n";
    const std::string sentence = verdict(textbook);
    return sentence.empty() ? text : text + "\n" + sentence;
}

std::string to_json(const Textbook& textbook) {
    Json json{{"machine", to_json(textbook.machine)},
              {"textbook", "sum of f32"},
              {"count", textbook.count},
              {"workgroup_size", kWorkgroupSize}};
    json["rows"] = Json::array();
    const std::uint64_t bytes = textbook.count * sizeof(float);
    const LimitRow* limit = textbook.limits.empty() ? nullptr : &textbook.limits.front();
    if (limit != nullptr && limit->read) {
        json["read_limit"] = to_json(*limit->read);
        json["read_limit"]["gigabytes_per_second"] = gigabytes_per_second(bytes, *limit->read);
    }
    for (const TextbookRow& row : textbook.rows) {
        Json item{{"kernel", row.kernel},
                  {"form", to_text(row.form)},
                  {"items_per_invocation", row.items},
                  {"barriers", row.barriers},
                  {"workgroup_memory", row.workgroup_memory}};
        if (row.timing) {
            item.update(to_json(*row.timing));
            item["gigabytes_per_second"] = gigabytes_per_second(bytes, *row.timing);
            if (limit != nullptr && limit->read) {
                item["share_of_read_limit"] = limit->read->nanoseconds / row.timing->nanoseconds;
            }
            if (const auto ratio = speed_up(find(textbook, Form::barrier, 1), &row)) {
                item["speed_up"] = *ratio;
            }
        }
        item["verified"] = row.timing.has_value();
        if (!row.note.empty()) item["note"] = row.note;
        json["rows"].push_back(std::move(item));
    }
    json["verdict"] = verdict(textbook);
    return dump(json);
}

}  // namespace lanewise::bench
