// How workgroups, subgroups and fragments run.
//
// A fragment is a set of lanes of one subgroup that run together. At a branch on which its lanes do
// not agree it splits. Every construct that SPIR-V declares (selection, loop, iteration of a loop,
// and every call) is a Scope on the fragment's stack:
//
//     header            the scope is pushed: all lanes of the fragment are "running" in it
//      /    \           fragments part; both hold the scope
//    a        b
//      \    /
//     merge             lanes that arrive wait; when none is running any more they go on as one
//
// Lanes that leave by another way (break, continue, return) are taken out of the scopes that they
// leave. Whether the lanes wait for each other at all is what the level of reconvergence says:
// where it promises nothing they go on one by one, and are marked as `apart`, so that a subgroup
// operation that they then execute is reported.

#include <fmt/format.h>
#include <algorithm>

#include "src/simulator/lane_loops.hpp"

namespace lanewise::simulator::detail {

std::string lanes_text(LaneMask mask);

// --- faults ---

SourceLine Engine::line_of(std::uint32_t code) const {
    SourceLine at;
    const Program& program = *dispatch->program;
    if (code >= program.code.size()) return at;
    const CodeLine& line = program.lines[code];
    at.file = program.files[line.file];
    at.line = line.line;
    at.function = program.functions[line.function].name;
    at.instruction = spirv::op_name(program.code[code].op);
    return at;
}

Fault* Engine::add_fault(FaultKind kind, std::uint32_t code, std::uint32_t other) {
    const auto key = std::tuple{kind, dispatch->program, code, other};
    if (const auto found = seen_.find(key); found != seen_.end()) {
        if (found->second < faults.size()) ++faults[found->second].times;
        return nullptr;
    }
    seen_[key] = faults.size();
    if (faults.size() >= machine.max_faults) return nullptr;
    Fault fault;
    fault.kind = kind;
    fault.pass = dispatch->pass;
    fault.at = line_of(code);
    if (other != ~0u) fault.other = line_of(other);
    faults.push_back(std::move(fault));
    return &faults.back();
}

Fault* Context::fault(FaultKind kind, const Code& code, std::uint32_t lane,
                      std::uint32_t other_code) {
    Fault* made = engine->add_fault(kind, index_of(code), other_code);
    if (made == nullptr) return nullptr;
    made->workgroup = workgroup->id;
    made->subgroup = subgroup->id;
    made->lane = lane;
    const std::uint32_t local = subgroup->local[lane];
    const auto& size = program->workgroup_size;
    made->local_invocation = {local % size[0], local / size[0] % size[1],
                              local / size[0] / size[1]};
    return made;
}

// --- workgroups ---

void Engine::place_lanes(Workgroup& workgroup) {
    const Program& program = *dispatch->program;
    const std::uint32_t total =
        program.workgroup_size[0] * program.workgroup_size[1] * program.workgroup_size[2];
    const std::uint32_t size = dispatch->subgroup_size;
    // The invocations in the order in which lanes take them.
    std::vector<std::uint32_t> order(total);
    for (std::uint32_t i = 0; i < total; ++i) order[i] = i;
    const bool must_be_full = dispatch->full_subgroups && total % size == 0;
    if (machine.lane_order == LaneOrder::random) {
        std::ranges::shuffle(order, random);
    } else if (machine.lane_order == LaneOrder::column_wise) {
        // Down the columns of the workgroup; of one row: every n-th invocation.
        const std::uint32_t width = program.workgroup_size[0];
        const std::uint32_t rows = total / width;
        std::size_t at = 0;
        if (rows > 1) {
            for (std::uint32_t x = 0; x < width; ++x)
                for (std::uint32_t y = 0; y < rows; ++y) order[at++] = y * width + x;
        } else {
            const std::uint32_t stride = (total + size - 1) / size;
            for (std::uint32_t first = 0; first < stride; ++first)
                for (std::uint32_t i = first; i < total; i += stride) order[at++] = i;
        }
    }
    std::vector<std::uint32_t> populations;
    for (std::uint32_t left = total; left > 0;) {
        std::uint32_t population = size;
        if (!must_be_full) {
            if (machine.random_populations) {
                population = 1 + static_cast<std::uint32_t>(random() % size);
            } else if (!machine.populations.empty()) {
                population = machine.populations[populations.size() % machine.populations.size()];
            }
        }
        population = std::clamp(population, 1u, std::min(size, left));
        populations.push_back(population);
        left -= population;
    }
    std::vector<std::uint32_t> ids(populations.size());
    for (std::uint32_t i = 0; i < ids.size(); ++i) ids[i] = i;
    if (machine.subgroup_ids == Order::reversed) std::ranges::reverse(ids);
    if (machine.subgroup_ids == Order::random) std::ranges::shuffle(ids, random);

    workgroup.subgroups.resize(populations.size());
    workgroup.subgroup_of.assign(total, 0);
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < populations.size(); ++i) {
        Subgroup& subgroup = workgroup.subgroups[ids[i]];
        subgroup.id = ids[i];
        subgroup.workgroup = &workgroup;
        subgroup.present = {};
        std::vector<std::uint32_t> lanes(size);
        for (std::uint32_t lane = 0; lane < size; ++lane) lanes[lane] = lane;
        if (machine.scattered_lanes && populations[i] < size) {
            std::ranges::shuffle(lanes, random);
            std::sort(lanes.begin(), lanes.begin() + populations[i]);
        }
        for (std::uint32_t j = 0; j < populations[i]; ++j) {
            const std::uint32_t taken =
                machine.lane_order == LaneOrder::reversed ? populations[i] - 1 - j : j;
            const std::uint32_t local = order[next + taken];
            // A lane that never runs takes its invocation with it.
            if (machine.running_lanes == 0 || lanes[j] < machine.running_lanes)
                subgroup.present.set(lanes[j]);
            subgroup.local[lanes[j]] = local;
            workgroup.subgroup_of[local] = subgroup.id;
        }
        next += populations[i];
    }
}

std::unique_ptr<Workgroup> Engine::start_workgroup(std::uint32_t linear) {
    const Program& program = *dispatch->program;
    const std::uint32_t size = dispatch->subgroup_size;
    std::unique_ptr<Workgroup> made;
    if (!spare_.empty()) {
        made = std::move(spare_.back());
        spare_.pop_back();
    } else {
        made = std::make_unique<Workgroup>();
    }
    Workgroup& workgroup = *made;
    workgroup.serial = next_serial_++;
    workgroup.linear = linear;
    workgroup.id = {linear % dispatch->groups[0],
                    linear / dispatch->groups[0] % dispatch->groups[1],
                    linear / dispatch->groups[0] / dispatch->groups[1]};
    workgroup.memory_time = 1;
    workgroup.storage_time = 1;
    workgroup.known.reset();
    workgroup.next_subgroup = 0;
    workgroup.instructions = 0;
    workgroup.starved = std::ranges::find(machine.starved, linear) != machine.starved.end();
    workgroup.bytes.assign(program.workgroup_bytes, std::byte{0xcd});
    workgroup.memory.name = "workgroup memory";
    workgroup.memory.is_workgroup = true;
    workgroup.memory.report_undefined = false;
    workgroup.memory.reset(workgroup.bytes, false);
    place_lanes(workgroup);
    const auto subgroups = static_cast<std::uint32_t>(workgroup.subgroups.size());
    for (Subgroup& subgroup : workgroup.subgroups) {
        subgroup.alive = subgroup.present;
        subgroup.dirty = {};
        subgroup.dirty_device = {};
        subgroup.sync = 1;
        subgroup.has_undefined = false;
        subgroup.next_fragment = 0;
        subgroup.registers.assign(std::size_t{program.slots} * size, 0);
        subgroup.undefined.assign(program.slots, {});
        subgroup.reason.assign(program.slots, 0);
        subgroup.ordering.assign(size, {});
        const auto& ws = program.workgroup_size;
        for (const BuiltInVariable& variable : program.builtins) {
            for (std::uint32_t part = 0; part < variable.count; ++part) {
                std::uint64_t* to = subgroup.registers.data() +
                                    (static_cast<std::size_t>(variable.slot) + part) * size;
                for (std::uint32_t lane = 0; lane < size; ++lane) {
                    const std::uint32_t local = subgroup.local[lane];
                    const std::uint32_t at[3] = {local % ws[0], local / ws[0] % ws[1],
                                                 local / ws[0] / ws[1]};
                    const auto word = [&](LaneMask mask) {
                        const std::uint64_t half = part < 2 ? mask.low : mask.high;
                        return narrow<32>(part % 2 == 0 ? half : half >> 32);
                    };
                    const LaneMask whole = LaneMask::first(size);
                    std::uint64_t value = 0;
                    switch (variable.what) {
                        case BuiltIn::num_workgroups: value = dispatch->groups[part % 3]; break;
                        case BuiltIn::workgroup_size: value = ws[part % 3]; break;
                        case BuiltIn::workgroup_id: value = workgroup.id[part % 3]; break;
                        case BuiltIn::local_invocation_id: value = at[part % 3]; break;
                        case BuiltIn::global_invocation_id:
                            value =
                                narrow<32>(std::uint64_t{workgroup.id[part % 3]} * ws[part % 3] +
                                           at[part % 3]);
                            break;
                        case BuiltIn::local_invocation_index: value = local; break;
                        case BuiltIn::subgroup_size:
                            value = machine.reported_subgroup_size != 0
                                        ? machine.reported_subgroup_size
                                        : size;
                            break;
                        case BuiltIn::num_subgroups: value = subgroups; break;
                        case BuiltIn::subgroup_id: value = subgroup.id; break;
                        case BuiltIn::subgroup_lane: value = lane; break;
                        case BuiltIn::mask_eq: value = word(LaneMask::one(lane)); break;
                        case BuiltIn::mask_ge: value = word(whole - LaneMask::first(lane)); break;
                        case BuiltIn::mask_gt:
                            value = word(whole - LaneMask::first(lane + 1));
                            break;
                        case BuiltIn::mask_le: value = word(LaneMask::first(lane + 1)); break;
                        case BuiltIn::mask_lt: value = word(LaneMask::first(lane)); break;
                        case BuiltIn::zero: break;
                    }
                    to[lane] = value;
                }
            }
        }
        for (const Move& slot : program.undefined_slots) {
            for (std::uint32_t i = 0; i < slot.count; ++i) {
                subgroup.undefined[static_cast<std::size_t>(slot.to) + i] = LaneMask::first(size);
                subgroup.reason[static_cast<std::size_t>(slot.to) + i] =
                    static_cast<std::uint32_t>(FaultKind::uninitialized_read) << 24;
            }
        }
        subgroup.fragments.clear();
        if (!subgroup.present.any()) continue;
        auto fragment = std::make_unique<Fragment>();
        fragment->mask = subgroup.present;
        fragment->uniform = true;
        Fragment& first = *fragment;
        subgroup.fragments.push_back(std::move(fragment));
        context.workgroup = &workgroup;
        focus(subgroup, first);
        for (const Move& variable : program.private_variables) {
            if (variable.from != kNoPlace) {
                context.move(variable.from, variable.to, variable.count);
            } else {
                for (std::uint32_t i = 0; i < variable.count; ++i)
                    subgroup.undefined[static_cast<std::size_t>(variable.to) + i] =
                        LaneMask::first(size);
            }
        }
        enter_function(program.functions[program.entry]);
        begin_block(subgroup, first, program.functions[program.entry].entry);
    }
    return made;
}

void Engine::focus(Subgroup& subgroup, Fragment& fragment) {
    context.engine = this;
    context.program = dispatch->program;
    context.workgroup = subgroup.workgroup;
    context.subgroup = &subgroup;
    context.fragment = &fragment;
    context.mask = fragment.mask;
    context.all = fragment.mask == subgroup.alive;
    context.lanes = dispatch->subgroup_size;
    context.registers = subgroup.registers.data();
    context.constants = constants_.data();
}

void Engine::enter_function(const CodeFunction& function) {
    for (const Move& variable : function.variables) {
        instructions += cost_of(variable.count);
        if (variable.from != kNoPlace) {
            context.move(variable.from, variable.to, variable.count);
            continue;
        }
        // Not a sign of undefined values yet: only a load that meets it makes one.
        for (std::uint32_t i = 0; i < variable.count; ++i) {
            const auto slot = static_cast<std::size_t>(variable.to) + i;
            context.subgroup->undefined[slot] = context.subgroup->undefined[slot] | context.mask;
            context.subgroup->reason[slot] = 0;
        }
    }
}

bool Engine::finished(const Workgroup& workgroup) const {
    return std::ranges::all_of(workgroup.subgroups,
                               [](const Subgroup& s) { return !s.alive.any(); });
}

// --- scopes ---

void Engine::push_scope(Fragment& fragment, const Subgroup& subgroup, Scope::Kind kind,
                        std::uint32_t target, std::uint32_t header) {
    auto* scope = new Scope;
    scope->kind = kind;
    scope->target = target;
    scope->header = header;
    scope->entered = scope->running = fragment.mask;
    scope->apart_at_entry = fragment.apart;
    scope->uniform_at_entry = fragment.uniform;
    switch (machine.reconvergence) {
        case Reconvergence::maximal: scope->joins = true; break;
        case Reconvergence::subgroup_uniform:
            scope->joins = fragment.mask == subgroup.present &&
                           (kind == Scope::Kind::selection || kind == Scope::Kind::loop);
            break;
        case Reconvergence::weakest:
            scope->joins = fragment.uniform && fragment.mask == subgroup.present &&
                           (kind == Scope::Kind::selection || kind == Scope::Kind::loop);
            break;
    }
    fragment.scopes.push_back(scope);
}

std::unique_ptr<Fragment> Engine::take_out(Subgroup& subgroup, Fragment& fragment) {
    const auto found = std::ranges::find_if(subgroup.fragments,
                                            [&](const auto& f) { return f.get() == &fragment; });
    std::unique_ptr<Fragment> taken = std::move(*found);
    subgroup.fragments.erase(found);
    return taken;
}

void Engine::break_shared(WorkgroupScope& scope) { scope.broken = true; }

void Engine::leave(Subgroup& subgroup, Scope& scope, LaneMask mask) {
    scope.running = scope.running - mask;
    scope.left = scope.left | mask;
    scope.broken = true;
    if (scope.shared) break_shared(*scope.shared);
    if (!scope.running.any()) complete(subgroup, scope);
}

// Nobody is inside any more, and nobody arrives now: those that wait go on.
void Engine::complete(Subgroup& subgroup, Scope& scope) {
    auto waiting = std::move(scope.arrived);
    const bool joined = machine.reconvergence == Reconvergence::maximal || !scope.broken;
    if (!waiting.empty()) {
        if (joined) {
            std::unique_ptr<Fragment> whole = std::move(waiting[0]);
            for (std::size_t i = 1; i < waiting.size(); ++i)
                whole->mask = whole->mask | waiting[i]->mask;
            Fragment& fragment = *whole;
            subgroup.fragments.push_back(std::move(whole));
            resume(subgroup, fragment, scope, true);
        } else {
            const bool alone = waiting.size() == 1;
            for (auto& one : waiting) {
                Fragment& fragment = *one;
                subgroup.fragments.push_back(std::move(one));
                resume(subgroup, fragment, scope, alone);
            }
        }
    }
    delete &scope;
}

void Engine::pop_scopes(Subgroup& subgroup, Fragment& fragment, std::size_t keep) {
    while (fragment.scopes.size() > keep) {
        Scope* scope = fragment.scopes.back();
        fragment.scopes.pop_back();
        leave(subgroup, *scope, fragment.mask);
    }
}

// Goes on after the end of a scope. `joined`: as all that should be together.
Fragment* Engine::resume(Subgroup& subgroup, Fragment& fragment, Scope& scope, bool joined) {
    fragment.state = Fragment::State::ready;
    if (joined) {
        fragment.apart = scope.apart_at_entry;
        fragment.uniform =
            scope.uniform_at_entry && !scope.broken && !scope.shared && fragment.uniform;
        if (scope.shared && !scope.shared->broken && !scope.broken) {
            // The rest of the workgroup has still to come here.
            ++scope.shared->arrived;
            fragment.waits_for = scope.shared;
        }
    } else if (fragment.apart == 0) {
        fragment.apart =
            1 + (scope.kind == Scope::Kind::call ? scope.target
                                                 : dispatch->program->blocks[scope.target].first);
    }
    Fragment* going = &fragment;
    if (scope.kind == Scope::Kind::call) {
        fragment.pc = scope.target;
    } else {
        going = begin_block(subgroup, fragment, scope.target);
    }
    if (fragment.waits_for) {
        fragment.state = Fragment::State::at_merge;
        return nullptr;
    }
    return going;
}

Fragment* Engine::arrive(Subgroup& subgroup, Fragment& fragment, std::size_t at) {
    Scope& scope = *fragment.scopes[at];
    fragment.scopes.resize(at);
    scope.running = scope.running - fragment.mask;
    if (!scope.joins) {
        // Nothing is promised here: it goes on alone.
        const bool alone = (scope.entered - scope.left - fragment.mask).any();
        const LaneMask running = scope.running;
        Fragment* going = nullptr;
        if (alone && fragment.apart == 0) {
            fragment.apart = 1 + (scope.kind == Scope::Kind::call
                                      ? scope.target
                                      : dispatch->program->blocks[scope.target].first);
        }
        if (scope.kind == Scope::Kind::call) {
            fragment.pc = scope.target;
            going = &fragment;
        } else {
            going = begin_block(subgroup, fragment, scope.target);
        }
        if (!running.any()) delete &scope;
        return going;
    }
    if (scope.running.any()) {
        scope.arrived.push_back(take_out(subgroup, fragment));
        return nullptr;
    }
    const bool joined = machine.reconvergence == Reconvergence::maximal || !scope.broken;
    Fragment* going = nullptr;
    if (scope.arrived.empty() || joined) {
        for (const auto& other : scope.arrived) fragment.mask = fragment.mask | other->mask;
        going = resume(subgroup, fragment, scope, true);
    } else {
        for (auto& other : scope.arrived) {
            Fragment& one = *other;
            subgroup.fragments.push_back(std::move(other));
            resume(subgroup, one, scope, false);
        }
        going = resume(subgroup, fragment, scope, false);
    }
    delete &scope;
    return going;
}

Fragment* Engine::begin_block(Subgroup& subgroup, Fragment& fragment, std::uint32_t block) {
    const CodeBlock& entered = dispatch->program->blocks[block];
    fragment.pc = entered.first;
    if (!entered.has_merge) return &fragment;
    if (entered.is_loop) {
        const bool again = !fragment.scopes.empty() &&
                           fragment.scopes.back()->kind == Scope::Kind::loop &&
                           fragment.scopes.back()->header == block;
        if (!again) push_scope(fragment, subgroup, Scope::Kind::loop, entered.merge, block);
        push_scope(fragment, subgroup, Scope::Kind::iteration, entered.continue_target, block);
    } else {
        push_scope(fragment, subgroup, Scope::Kind::selection, entered.merge, block);
    }
    return &fragment;
}

Fragment* Engine::enter_block(Subgroup& subgroup, Fragment& fragment, std::uint32_t block) {
    for (std::size_t i = fragment.scopes.size(); i-- > 0;) {
        const Scope& scope = *fragment.scopes[i];
        if (scope.kind == Scope::Kind::call) break;
        if (scope.target != block) continue;
        pop_scopes(subgroup, fragment, i + 1);
        return arrive(subgroup, fragment, i);
    }
    return begin_block(subgroup, fragment, block);
}

Fragment* Engine::take_edge(Subgroup& subgroup, Fragment& fragment, std::uint32_t edge) {
    const Edge& taken = dispatch->program->edges[edge];
    for (const Move& phi : taken.phis) instructions += cost_of(phi.count);
    if (!taken.phis.empty()) {
        focus(subgroup, fragment);
        if (taken.phis.size() == 1) {
            context.move(taken.phis[0].from, taken.phis[0].to, taken.phis[0].count);
        } else {
            // All are read before any is written: where one's source is another's target, by way of
            // a copy.
            bool overlap = false;
            for (std::size_t i = 0; i < taken.phis.size(); ++i) {
                for (std::size_t j = 0; j < i; ++j) {
                    const Move& reads = taken.phis[i];
                    const Move& writes = taken.phis[j];
                    overlap =
                        overlap || (reads.from >= 0 &&
                                    reads.from < writes.to + static_cast<Place>(writes.count) &&
                                    writes.to < reads.from + static_cast<Place>(reads.count));
                }
            }
            if (!overlap) {
                for (const Move& phi : taken.phis) context.move(phi.from, phi.to, phi.count);
            } else {
                std::vector<std::uint64_t> values;
                std::vector<std::pair<LaneMask, std::uint32_t>> marks;
                for (const Move& phi : taken.phis) {
                    const std::uint64_t* from = context.in(phi.from);
                    values.insert(values.end(), from,
                                  from + std::size_t{phi.count} * context.lanes);
                    for (std::uint32_t i = 0; i < phi.count; ++i) {
                        const bool held = phi.from >= 0;
                        const auto slot =
                            static_cast<std::size_t>(held ? phi.from : 0) + (held ? i : 0);
                        marks.emplace_back(held ? subgroup.undefined[slot] : LaneMask{},
                                           subgroup.reason[slot]);
                    }
                }
                std::size_t at = 0;
                std::size_t mark = 0;
                for (const Move& phi : taken.phis) {
                    std::uint64_t* to = context.out(phi.to);
                    for (std::uint32_t i = 0; i < phi.count; ++i, ++mark) {
                        for_each_lane(context.mask, [&](std::uint32_t lane) {
                            to[i * context.lanes + lane] = values[at + i * context.lanes + lane];
                        });
                        const Place place = phi.to + static_cast<Place>(i);
                        context.set_defined(place, context.mask);
                        const LaneMask spoiled = marks[mark].first & context.mask;
                        if (spoiled.any())
                            context.set_undefined(place, spoiled, marks[mark].second);
                    }
                    at += std::size_t{phi.count} * context.lanes;
                }
            }
        }
    }
    return enter_block(subgroup, fragment, taken.block);
}

Fragment* Engine::split(Subgroup& subgroup, Fragment& fragment,
                        const std::vector<std::pair<std::uint32_t, LaneMask>>& ways) {
    if (ways.size() == 1) return take_edge(subgroup, fragment, ways[0].first);
    fragment.uniform = false;
    // The others first: the fragment itself may end up waiting, or be gone.
    std::vector<std::pair<Fragment*, std::uint32_t>> others;
    for (std::size_t i = 1; i < ways.size(); ++i) {
        auto made = std::make_unique<Fragment>(fragment);
        made->mask = ways[i].second;
        others.emplace_back(made.get(), ways[i].first);
        subgroup.fragments.push_back(std::move(made));
    }
    fragment.mask = ways[0].second;
    for (const auto& [other, edge] : others) take_edge(subgroup, *other, edge);
    return take_edge(subgroup, fragment, ways[0].first);
}

Fragment* Engine::branch(Subgroup& subgroup, Fragment& fragment, const Code& code) {
    const Program& program = *dispatch->program;
    context.use(code, 0, "the condition of a branch");
    const std::uint64_t* value = context.in(code.operand[0]);
    std::vector<std::pair<std::uint32_t, LaneMask>> ways;
    if (code.kind == CodeKind::branch_conditional) {
        LaneMask yes;
        each_lane(context, [&](std::uint32_t lane) {
            if (value[lane] != 0) yes.set(lane);
        });
        const LaneMask no = fragment.mask - yes;
        if (yes.any()) ways.emplace_back(code.extra, yes);
        if (no.any()) ways.emplace_back(code.aux, no);
    } else {
        const SwitchTable& table = program.switches[code.extra];
        each_lane(context, [&](std::uint32_t lane) {
            const auto found = table.cases.find(value[lane]);
            const std::uint32_t edge = found == table.cases.end() ? table.fallback : found->second;
            // Cases that share a label are one way.
            const auto way = std::ranges::find_if(ways, [&](const auto& w) {
                return program.edges[w.first].block == program.edges[edge].block;
            });
            if (way == ways.end())
                ways.emplace_back(edge, LaneMask::one(lane));
            else
                way->second.set(lane);
        });
    }
    if (machine.subgroups == Schedule::reversed) std::ranges::reverse(ways);
    if (machine.subgroups == Schedule::random && ways.size() > 1)
        std::ranges::shuffle(ways, random);
    if (machine.reconvergence == Reconvergence::weakest && fragment.uniform &&
        fragment.state != Fragment::State::at_branch) {
        // Whether the whole workgroup agrees shows when all of it has come here.
        fragment.state = Fragment::State::at_branch;
        fragment.agreed = ways.size() == 1;
        fragment.decision = program.edges[ways[0].first].block;
        return nullptr;
    }
    fragment.state = Fragment::State::ready;
    return split(subgroup, fragment, ways);
}

Fragment* Engine::call(Subgroup& subgroup, Fragment& fragment, const Code& code) {
    const Program& program = *dispatch->program;
    const CodeFunction& callee = program.functions[code.extra];
    for (const Move& move : program.move_lists[code.aux])
        context.move(move.from, move.to, move.count);
    enter_function(callee);
    fragment.calls.push_back(fragment.pc);
    push_scope(fragment, subgroup, Scope::Kind::call, fragment.pc + 1, 0);
    return begin_block(subgroup, fragment, callee.entry);
}

Fragment* Engine::return_from(Subgroup& subgroup, Fragment& fragment, const Code& code) {
    if (fragment.calls.empty()) {
        // The entry point ends for these lanes.
        const LaneMask mask = fragment.mask;
        const std::unique_ptr<Fragment> ended = take_out(subgroup, fragment);
        subgroup.alive = subgroup.alive - mask;
        pop_scopes(subgroup, *ended, 0);
        return nullptr;
    }
    const std::uint32_t call_pc = fragment.calls.back();
    const Code& call_code = dispatch->program->code[call_pc];
    if (code.operand[0] != kNoPlace && call_code.result != kNoPlace)
        context.move(code.operand[0], call_code.result, call_code.count);
    fragment.calls.pop_back();
    std::size_t at = fragment.scopes.size();
    while (at > 0 && fragment.scopes[at - 1]->kind != Scope::Kind::call) --at;
    pop_scopes(subgroup, fragment, at);
    return arrive(subgroup, fragment, at - 1);
}

// --- running ---

// Before an instruction that is computed from its operands: where these are undefined, it is, too.
void Engine::flow_undefined(const Code& code) {
    if (code.result == kNoPlace || code.flow == Flow::self) return;
    Context& c = context;
    if (code.flow == Flow::clean) {
        for (std::uint32_t i = 0; i < code.count; ++i)
            c.set_defined(code.result + static_cast<Place>(i), c.mask);
        return;
    }
    if (code.flow == Flow::all) {
        LaneMask spoiled;
        std::uint32_t reason = 0;
        for (std::size_t o = 0; o < code.operand.size(); ++o) {
            if (code.operand[o] < 0) continue;
            for (std::uint32_t i = 0; i < code.size[o]; ++i) {
                const auto slot = static_cast<std::size_t>(code.operand[o]) + i;
                const LaneMask more = c.subgroup->undefined[slot] & c.mask;
                if (more.any()) reason = c.subgroup->reason[slot];
                spoiled = spoiled | more;
            }
        }
        for (std::uint32_t i = 0; i < code.count; ++i) {
            c.set_defined(code.result + static_cast<Place>(i), c.mask);
            if (spoiled.any())
                c.set_undefined(code.result + static_cast<Place>(i), spoiled, reason);
        }
        return;
    }
    for (std::uint32_t i = 0; i < code.count; ++i) {
        LaneMask spoiled;
        std::uint32_t reason = 0;
        for (std::size_t o = 0; o < code.operand.size(); ++o) {
            if (code.operand[o] < 0) continue;
            const auto slot =
                static_cast<std::size_t>(code.operand[o]) + (code.size[o] == 1 ? 0 : i);
            const LaneMask more = c.subgroup->undefined[slot] & c.mask;
            if (more.any()) reason = c.subgroup->reason[slot];
            spoiled = spoiled | more;
        }
        c.set_defined(code.result + static_cast<Place>(i), c.mask);
        if (spoiled.any()) c.set_undefined(code.result + static_cast<Place>(i), spoiled, reason);
    }
}

void Engine::run_fragment(Subgroup& subgroup, Fragment& started, std::uint64_t budget) {
    const Program& program = *dispatch->program;
    Fragment* fragment = &started;
    focus(subgroup, *fragment);
    std::uint32_t running = fragment->mask.count();
    while (budget > 0) {
        const Code& code = program.code[fragment->pc];
        const std::uint64_t cost = 1 + cost_of(code.count) + cost_of(code.size[1]);
        budget -= std::min(budget, cost);
        instructions += cost;
        ++subgroup.workgroup->instructions;
        invocation_instructions += running;
        if (code.kind == CodeKind::plain) {
            if (subgroup.has_undefined) flow_undefined(code);
            code.run(context, code);
            ++fragment->pc;
            if (stopped) return;
            continue;
        }
        switch (code.kind) {
            case CodeKind::branch: fragment = take_edge(subgroup, *fragment, code.extra); break;
            case CodeKind::branch_conditional:
            case CodeKind::branch_switch: fragment = branch(subgroup, *fragment, code); break;
            case CodeKind::call: fragment = call(subgroup, *fragment, code); break;
            case CodeKind::return_: fragment = return_from(subgroup, *fragment, code); break;
            case CodeKind::control_barrier: fragment->state = Fragment::State::at_barrier; return;
            case CodeKind::unreachable:
            default:
                if (Fault* fault =
                        context.fault(FaultKind::unreachable, code, fragment->mask.lowest()))
                    fault->message = "a place was reached that the shader says cannot be";
                stopped = true;
                return;
        }
        if (fragment == nullptr) return;
        focus(subgroup, *fragment);
        running = fragment->mask.count();
    }
}

void Engine::order_at_barrier(Workgroup& workgroup, std::uint64_t semantics) {
    if (!is_release(semantics) && !is_acquire(semantics)) return;
    bool dirty = false;
    bool dirty_device = false;
    for (const Subgroup& subgroup : workgroup.subgroups) {
        dirty = dirty || subgroup.dirty.any();
        dirty_device = dirty_device || subgroup.dirty_device.any();
    }
    if ((semantics & kWorkgroupSemantics) != 0) ++workgroup.memory_time;
    // A barrier that does not name storage still orders it when every write was fenced before.
    const bool storage = (semantics & kStorageSemantics) != 0 || !dirty;
    if (storage) {
        ++workgroup.storage_time;
        for (Subgroup& subgroup : workgroup.subgroups) subgroup.dirty = {};
    }
    // What one invocation knows, has read or has released, all have now: the usual fence, barrier,
    // atomic by one invocation, barrier, fence is taken as ordered.
    KnowledgePtr known = workgroup.known;
    KnowledgePtr device;
    KnowledgePtr local;
    bool released = false;
    for (Subgroup& subgroup : workgroup.subgroups) {
        for_each_lane(subgroup.present, [&](std::uint32_t lane) {
            LaneOrdering& mine = subgroup.ordering[lane];
            known = join(known, mine.acquired);
            mine.acquired.reset();
            device = join(device, mine.pending_device);
            local = join(local, mine.pending_workgroup);
            released = released || mine.release_device.valid;
        });
    }
    workgroup.known = known;
    for (Subgroup& subgroup : workgroup.subgroups) {
        for_each_lane(subgroup.present, [&](std::uint32_t lane) {
            LaneOrdering& mine = subgroup.ordering[lane];
            mine.pending_device = device;
            mine.pending_workgroup = local;
            if (released && storage && !dirty_device) {
                mine.release_device = {true, workgroup.storage_time, mine.clock, known};
                mine.release_workgroup = {true, workgroup.storage_time, mine.clock++, known};
            }
        });
    }
}

bool Engine::resolve_barrier(Workgroup& workgroup) {
    const Program& program = *dispatch->program;
    Fragment* lead = nullptr;
    Subgroup* lead_subgroup = nullptr;
    std::uint32_t arrived = 0;
    std::uint32_t total = 0;
    bool together = true;
    std::string elsewhere;
    std::uint32_t other = ~0u;
    for (Subgroup& subgroup : workgroup.subgroups) {
        total += subgroup.present.count();
        for (const auto& fragment : subgroup.fragments) {
            if (fragment->state != Fragment::State::at_barrier) continue;
            if (lead == nullptr) {
                lead = fragment.get();
                lead_subgroup = &subgroup;
            }
            if (fragment->pc == lead->pc && fragment->calls == lead->calls) {
                arrived += fragment->mask.count();
                if (!(fragment->mask == subgroup.present)) together = false;
            } else {
                together = false;
                other = fragment->pc;
            }
        }
    }
    if (lead == nullptr) return false;
    const Code& code = program.code[lead->pc];
    if (!together || arrived != total) {
        focus(*lead_subgroup, *lead);
        // Somebody who is missing.
        for (const Subgroup& subgroup : workgroup.subgroups) {
            const LaneMask ended = subgroup.present - subgroup.alive;
            if (!ended.any() || !elsewhere.empty()) continue;
            elsewhere =
                fmt::format("lanes {} of subgroup {} have ended", lanes_text(ended), subgroup.id);
        }
        if (other != ~0u) {
            const SourceLine line = line_of(other);
            elsewhere =
                fmt::format("others wait at another barrier{}",
                            line.line != 0 ? fmt::format(" in line {}", line.line) : std::string());
        }
        if (elsewhere.empty())
            elsewhere = "lanes of one subgroup came one after the other, not together";
        if (Fault* fault =
                context.fault(FaultKind::divergent_barrier, code, lead->mask.lowest(), other))
            fault->message = fmt::format("the barrier was reached by {} of {} invocations: {}",
                                         arrived, total, elsewhere);
    }
    order_at_barrier(workgroup, code.extra);
    for (Subgroup& subgroup : workgroup.subgroups) {
        for (const auto& fragment : subgroup.fragments) {
            if (fragment->state != Fragment::State::at_barrier) continue;
            const Code& its = program.code[fragment->pc];
            // The barrier's own semantics are a fence, too.
            focus(subgroup, *fragment);
            fence(context, fragment->mask, its.aux, its.extra);
            ++fragment->pc;
            fragment->state = Fragment::State::ready;
        }
    }
    return true;
}

// Level weakest: all subgroups have come to the same branch; do they agree?
bool Engine::resolve_branches(Workgroup& workgroup) {
    bool any = false;
    bool all_here = true;
    bool agreed = true;
    std::uint32_t pc = 0;
    std::uint64_t decision = 0;
    for (const Subgroup& subgroup : workgroup.subgroups) {
        for (const auto& fragment : subgroup.fragments) {
            if (fragment->state != Fragment::State::at_branch) {
                all_here = false;
                continue;
            }
            if (!any) {
                any = true;
                pc = fragment->pc;
                decision = fragment->decision;
            }
            agreed =
                agreed && fragment->agreed && fragment->pc == pc && fragment->decision == decision;
        }
    }
    if (!any) return false;
    std::vector<std::shared_ptr<WorkgroupScope>> shared;
    if (!agreed || !all_here) {
        // From here on apart, until the ends of the constructs that all are in now.
        for (Subgroup& subgroup : workgroup.subgroups) {
            for (const auto& fragment : subgroup.fragments) {
                if (fragment->state != Fragment::State::at_branch) continue;
                fragment->uniform = false;
                for (std::size_t i = 0; all_here && i < fragment->scopes.size(); ++i) {
                    Scope& scope = *fragment->scopes[i];
                    if (!scope.joins || scope.shared) continue;
                    if (shared.size() <= i) shared.resize(i + 1);
                    if (!shared[i]) {
                        shared[i] = std::make_shared<WorkgroupScope>();
                        shared[i]->expected =
                            static_cast<std::uint32_t>(workgroup.subgroups.size());
                    }
                    scope.shared = shared[i];
                }
            }
        }
    }
    for (Subgroup& subgroup : workgroup.subgroups) {
        // Branching changes the list.
        std::vector<Fragment*> here;
        for (const auto& fragment : subgroup.fragments)
            if (fragment->state == Fragment::State::at_branch) here.push_back(fragment.get());
        for (Fragment* fragment : here) {
            focus(subgroup, *fragment);
            branch(subgroup, *fragment, dispatch->program->code[fragment->pc]);
        }
    }
    return true;
}

// Level weakest: fragments that wait for the rest of their workgroup at the end of a construct.
bool Engine::release_stalled(Workgroup& workgroup) {
    bool any = false;
    for (Subgroup& subgroup : workgroup.subgroups) {
        for (const auto& fragment : subgroup.fragments) {
            if (fragment->state == Fragment::State::at_merge) {
                fragment->waits_for.reset();
                fragment->state = Fragment::State::ready;
                fragment->uniform = false;
                any = true;
            }
        }
    }
    return any;
}

// Runs one subgroup for its turn; false when nothing of the workgroup can run.
bool Engine::step_workgroup(Workgroup& workgroup) {
    // Waiting at merges ends when all have come or one will not.
    if (machine.reconvergence == Reconvergence::weakest) {
        for (Subgroup& subgroup : workgroup.subgroups) {
            for (const auto& fragment : subgroup.fragments) {
                if (fragment->state != Fragment::State::at_merge) continue;
                const WorkgroupScope& scope = *fragment->waits_for;
                if (!scope.broken && scope.arrived < scope.expected) continue;
                fragment->uniform = !scope.broken;
                fragment->waits_for.reset();
                fragment->state = Fragment::State::ready;
                // Constructs that began at the merge block itself.
                for (Scope* opened : fragment->scopes)
                    if (fragment->uniform && opened->entered == fragment->mask &&
                        opened->running == fragment->mask &&
                        dispatch->program->blocks[opened->header].first == fragment->pc &&
                        opened->kind != Scope::Kind::call) {
                        opened->uniform_at_entry = true;
                        opened->joins = fragment->mask == subgroup.present &&
                                        opened->kind != Scope::Kind::iteration;
                    }
            }
        }
    }
    const std::size_t count = workgroup.subgroups.size();
    const auto can_run = [](const Subgroup& subgroup) {
        return std::ranges::any_of(
            subgroup.fragments, [](const auto& f) { return f->state == Fragment::State::ready; });
    };
    std::size_t chosen = count;
    std::uint64_t budget = machine.quantum;
    switch (machine.subgroups) {
        case Schedule::in_order:
            budget = 1u << 14;
            for (std::size_t i = 0; i < count && chosen == count; ++i)
                if (can_run(workgroup.subgroups[i])) chosen = i;
            break;
        case Schedule::reversed:
            budget = 1u << 14;
            for (std::size_t i = count; i-- > 0 && chosen == count;)
                if (can_run(workgroup.subgroups[i])) chosen = i;
            break;
        case Schedule::round_robin:
            for (std::size_t i = 0; i < count && chosen == count; ++i) {
                const std::size_t at = (workgroup.next_subgroup + i) % count;
                if (can_run(workgroup.subgroups[at])) chosen = at;
            }
            break;
        case Schedule::random: {
            const std::size_t first = random() % count;
            for (std::size_t i = 0; i < count && chosen == count; ++i)
                if (can_run(workgroup.subgroups[(first + i) % count])) chosen = (first + i) % count;
            budget = 1 + random() % std::max(1u, machine.quantum);
            break;
        }
    }
    if (chosen == count) return false;
    workgroup.next_subgroup = (chosen + 1) % count;
    Subgroup& subgroup = workgroup.subgroups[chosen];
    // Fragments of a subgroup take turns, so that one that waits for another does not wait for
    // ever.
    const std::size_t fragments = subgroup.fragments.size();
    for (std::size_t i = 0; i < fragments; ++i) {
        const std::size_t at = (subgroup.next_fragment + i) % fragments;
        if (subgroup.fragments[at]->state != Fragment::State::ready) continue;
        subgroup.next_fragment = at + 1;
        run_fragment(subgroup, *subgroup.fragments[at], budget);
        return true;
    }
    return false;
}

Result<void> check_size(const Machine& machine, const Dispatch& dispatch) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 31;
    const Program& program = *dispatch.program;
    const std::uint64_t size = dispatch.subgroup_size;
    const std::uint64_t invocations = std::uint64_t{program.workgroup_size[0]} *
                                      program.workgroup_size[1] * program.workgroup_size[2];
    // By the least population; random ones are half of the subgroup on average.
    std::uint64_t population =
        machine.random_populations ? std::max<std::uint64_t>(size / 4, 1) : size;
    if (!machine.random_populations && !machine.populations.empty())
        population = std::ranges::min(machine.populations);
    const std::uint64_t subgroups = invocations / population + 1;
    const bool one_at_a_time =
        machine.workgroups == Schedule::in_order || machine.workgroups == Schedule::reversed;
    const std::uint64_t groups =
        std::min(std::uint64_t{dispatch.groups[0]} * dispatch.groups[1] * dispatch.groups[2],
                 (one_at_a_time ? 1 : machine.resident_workgroups) + machine.starved.size());
    const std::uint64_t slot =
        size * sizeof(std::uint64_t) + sizeof(LaneMask) + sizeof(std::uint32_t);
    const std::uint64_t group = program.slots * slot * subgroups;
    if (group * groups + program.constants.size() * size * sizeof(std::uint64_t) <= kMost)
        return {};
    return tl::unexpected(Error{
        ErrorCode::limit_exceeded,
        fmt::format("{}: the registers of a workgroup take {} bytes, those of {} that are under "
                    "way at a time more than {}",
                    dispatch.pass, group, groups, kMost),
        {}});
}

void Engine::run(const Dispatch& what) {
    dispatch = &what;
    const Program& program = *what.program;
    stopped = false;
    spare_.clear();
    constants_.resize(program.constants.size() * what.subgroup_size);
    for (std::size_t i = 0; i < program.constants.size(); ++i)
        std::fill_n(constants_.begin() + static_cast<std::ptrdiff_t>(i * what.subgroup_size),
                    what.subgroup_size, program.constants[i]);
    push_constant_object.name = "push constants";
    push_constant_object.writable = false;
    push_constant_object.reset(what.push_constants, true);
    bad_pointers.clear();
    origins.clear();

    const std::uint64_t total = std::uint64_t{what.groups[0]} * what.groups[1] * what.groups[2];
    std::vector<std::uint32_t> order(total);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
    if (machine.workgroups == Schedule::reversed) std::ranges::reverse(order);
    if (machine.workgroups == Schedule::random) std::ranges::shuffle(order, random);

    const bool one_at_a_time =
        machine.workgroups == Schedule::in_order || machine.workgroups == Schedule::reversed;
    const std::size_t most = std::max(1u, machine.resident_workgroups);
    std::vector<std::unique_ptr<Workgroup>> resident;
    std::size_t started = 0;
    std::size_t turn = 0;
    const auto stalled = [&](const Workgroup& workgroup) {
        return workgroup.starved && workgroup.instructions >= machine.starve_after;
    };
    const std::uint64_t limit = instructions + machine.max_instructions;
    while (!stopped) {
        // Starved ones take no room from others.
        std::size_t running = 0;
        for (const auto& workgroup : resident) running += stalled(*workgroup) ? 0 : 1;
        while (running < (one_at_a_time ? 1 : most) && started < order.size()) {
            resident.push_back(start_workgroup(order[started++]));
            running += stalled(*resident.back()) ? 0 : 1;
        }
        if (resident.empty()) break;
        std::size_t chosen = resident.size();
        if (running > 0) {
            std::size_t first = 0;
            if (machine.workgroups == Schedule::round_robin) first = turn++ % resident.size();
            if (machine.workgroups == Schedule::random) first = random() % resident.size();
            for (std::size_t i = 0; i < resident.size() && chosen == resident.size(); ++i) {
                const std::size_t at = (first + i) % resident.size();
                if (!stalled(*resident[at])) chosen = at;
            }
        } else {
            if (machine.starved_for_ever) break;
            chosen = 0;
        }
        Workgroup& workgroup = *resident[chosen];
        context.workgroup = &workgroup;
        bool moved = step_workgroup(workgroup);
        if (!moved && !finished(workgroup)) {
            moved = resolve_branches(workgroup);
            if (!moved) moved = resolve_barrier(workgroup);
            if (!moved && !release_stalled(workgroup)) {
                // Nobody is left who could wake the others.
                if (Fault* fault = add_fault(FaultKind::no_progress, ~0u, ~0u)) {
                    fault->workgroup = workgroup.id;
                    fault->message = "the workgroup has not ended and nothing of it can run";
                }
                stopped = true;
            }
        }
        if (finished(workgroup)) {
            spare_.push_back(std::move(resident[chosen]));
            resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(chosen));
        }
        if (instructions >= limit) {
            Subgroup* at = nullptr;
            Fragment* where = nullptr;
            for (const auto& held : resident) {
                for (Subgroup& subgroup : held->subgroups) {
                    for (const auto& fragment : subgroup.fragments) {
                        if (where == nullptr && fragment->state == Fragment::State::ready &&
                            !stalled(*held)) {
                            at = &subgroup;
                            where = fragment.get();
                        }
                    }
                }
            }
            if (where != nullptr) {
                focus(*at, *where);
                if (Fault* fault = context.fault(FaultKind::no_progress, program.code[where->pc],
                                                 where->mask.lowest()))
                    fault->message =
                        fmt::format("{} instructions were executed and the dispatch has not ended",
                                    machine.max_instructions);
            }
            stopped = true;
        }
    }
    // What a stop left behind: scopes belong to their fragments.
    const auto clear = [](Workgroup& workgroup) {
        std::vector<Scope*> scopes;
        const auto collect = [&](const auto& self, const Fragment& fragment) -> void {
            for (Scope* scope : fragment.scopes) {
                if (std::ranges::find(scopes, scope) != scopes.end()) continue;
                scopes.push_back(scope);
                for (const auto& waiting : scope->arrived) self(self, *waiting);
            }
        };
        for (Subgroup& subgroup : workgroup.subgroups)
            for (const auto& fragment : subgroup.fragments) collect(collect, *fragment);
        for (Scope* scope : scopes) delete scope;
    };
    for (const auto& workgroup : resident) clear(*workgroup);
}

}  // namespace lanewise::simulator::detail
