//! Which modules must agree on an attribute's offset: its scope components (Han 2019, 5.3.3).
//!
//! ```text
//!   1 w --> 2 --> 4 r --> 10 w --> 11 r       {1, 2, 4, 5}: 2 passes on what 4 and 5 read
//!           |                                 {10, 11}: a new write, so a new component
//!           +---> 5 r                         3 is in neither: what it is given, nobody reads
//!           +---> 3
//! ```
//!
//! An attribute is *live* in a module if it is read there, or behind it before it is written anew; it *arrives* if
//! a write comes before. Where both hold, there is a value to keep. Two modules on one edge that keep a value
//! across it are of one component. Every step is a walk over edges, each taken once, and only where the attribute is live:
//! no walk over paths, none over the whole graph for an attribute that two neighbours share.

use super::attribute::{ATTRIBUTE_LEN_MAX, Place};
use super::fault::Fault;
use super::{ModuleView, Scene};
use std::collections::BTreeMap;

/// One scope component.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    pub(super) attribute: &'a str,
    /// The largest that a member declares.
    pub(super) size: u8,
    /// Ascending.
    pub(super) members: Vec<usize>,
    /// The rank of the member that frames come to first ([`Paths::ranks`]).
    pub(super) start: usize,
}

/// Where an attribute of a module belongs.
#[derive(Clone, Copy)]
pub(super) enum Home {
    /// To the component of this number.
    Scope(usize),
    /// To none.
    Nowhere(Place),
}

/// Every component of a scene, and for each module, for each of its attributes, which is its own.
pub(super) struct Scopes<'a> {
    pub(super) list: Vec<Scope<'a>>,
    pub(super) homes: Vec<Vec<Home>>,
    pub(super) faults: Vec<Fault>,
}

/// What one module does with one attribute, all declarations of that name together.
struct Use {
    module: usize,
    /// Which of the module's attributes these are.
    declarations: Vec<usize>,
    size: u8,
    reads: bool,
    writes: bool,
}

impl<'a> Scopes<'a> {
    /// Finds the components of every attribute, in the order of their names.
    pub(super) fn of(scene: &Scene<'a>) -> Self {
        let modules = scene.modules;
        let homes = modules.iter().map(|m| vec![Home::Nowhere(Place::NoRoom); m.attributes.len()]).collect();
        let mut scopes = Self { list: Vec::new(), homes, faults: Vec::new() };
        let paths = Paths::of(modules);
        let mut walk = Walk::new(&paths);
        for (name, uses) in scopes.uses_by_name(modules) {
            walk.take(&uses);
            scopes.note_ways_without(modules, name, &uses, &walk);
            scopes.add_components(modules, name, &uses, &walk);
        }
        let ranks = paths.ranks();
        let start = |scope: &Scope<'_>| scope.members.iter().map(|module| ranks[*module]).min().unwrap_or(0);
        scopes.list.iter_mut().for_each(|scope| scope.start = start(scope));
        scopes
    }

    fn uses_by_name(&mut self, modules: &'a [ModuleView<'a>]) -> BTreeMap<&'a str, Vec<Use>> {
        let mut by_name: BTreeMap<&str, Vec<Use>> = BTreeMap::new();
        for (module, view) in modules.iter().enumerate() {
            for (index, attribute) in view.attributes.iter().enumerate() {
                let (name, size) = (attribute.name.as_ref(), attribute.size);
                if !(1..=ATTRIBUTE_LEN_MAX).contains(&size) {
                    let (module, attribute) = (view.name.to_string(), name.to_string());
                    self.faults.push(Fault::Size { module, attribute, size });
                    continue;
                }
                let uses = by_name.entry(name).or_default();
                if uses.last().is_none_or(|last| last.module != module) {
                    uses.push(Use { module, declarations: Vec::new(), size, reads: false, writes: false });
                }
                let Some(merged) = uses.last_mut() else { continue };
                if merged.size != size {
                    self.faults.push(two_sizes(modules, name, (module, merged.size), (module, size)));
                }
                merged.declarations.push(index);
                merged.size = merged.size.max(size);
                merged.reads |= attribute.access.reads();
                merged.writes |= attribute.access.writes();
            }
        }
        by_name
    }

    fn note_ways_without(&mut self, modules: &[ModuleView<'_>], name: &str, uses: &[Use], walk: &Walk<'_>) {
        for reader in uses.iter().filter(|it| it.reads) {
            let module = modules[reader.module].name.to_string();
            let attribute = name.to_string();
            match (walk.arrives(reader.module), walk.bare.seed(reader.module)) {
                (false, _) => self.faults.push(Fault::Unwritten { module, attribute }),
                (true, Some(entry)) => {
                    let from = modules[entry].name.to_string();
                    self.faults.push(Fault::PartlyWritten { module, attribute, from });
                }
                (true, None) => {}
            }
        }
    }

    fn add_components(&mut self, modules: &[ModuleView<'_>], name: &'a str, uses: &[Use], walk: &Walk<'_>) {
        let first = self.list.len();
        for &module in &walk.kept {
            let component = first + walk.group_of[module];
            if component == self.list.len() {
                self.list.push(Scope { attribute: name, size: 0, members: Vec::new(), start: 0 });
            }
            self.list[component].members.push(module);
        }
        let mut witnesses: Vec<Option<&Use>> = vec![None; self.list.len() - first];
        for it in uses {
            let group = walk.keeps(it.module).then(|| walk.group_of[it.module]);
            self.settle(modules, it, group.map(|group| first + group), walk);
            let Some(group) = group else { continue };
            let scope = &mut self.list[first + group];
            scope.size = scope.size.max(it.size);
            let witness = *witnesses[group].get_or_insert(it);
            if witness.size != it.size {
                let (one, other) = ((witness.module, witness.size), (it.module, it.size));
                self.faults.push(two_sizes(modules, name, one, other));
            }
        }
    }

    /// Says of each declaration where it belongs. A value that nobody reads, or nobody has written, has no place
    /// even where the module has one for the other half of what it does.
    fn settle(&mut self, modules: &[ModuleView<'_>], it: &Use, component: Option<usize>, walk: &Walk<'_>) {
        for &index in &it.declarations {
            let access = modules[it.module].attributes[index].access;
            let comes = access.reads() && walk.arrives(it.module);
            let goes = access.writes() && walk.is_read_behind(it.module);
            self.homes[it.module][index] = match component {
                Some(component) if comes || goes => Home::Scope(component),
                _ if access.reads() => Home::Nowhere(Place::Unwritten),
                _ => Home::Nowhere(Place::Unread),
            };
        }
    }
}

fn two_sizes(
    modules: &[ModuleView<'_>],
    attribute: &str,
    (module, size): (usize, u8),
    (other, other_size): (usize, u8),
) -> Fault {
    let name = |module: usize| modules[module].name.to_string();
    Fault::TwoSizes {
        attribute: attribute.to_string(),
        module: name(module),
        size,
        other: name(other),
        other_size,
    }
}

/// The edges of a scene, both ways, each once.
struct Paths {
    next: Vec<Vec<usize>>,
    previous: Vec<Vec<usize>>,
}

impl Paths {
    fn of(modules: &[ModuleView<'_>]) -> Self {
        let mut previous = vec![Vec::new(); modules.len()];
        let mut next = Vec::with_capacity(modules.len());
        for (module, view) in modules.iter().enumerate() {
            let mut row: Vec<usize> = view.next.iter().copied().filter(|to| *to < modules.len()).collect();
            row.sort_unstable();
            row.dedup();
            row.iter().for_each(|to| previous[*to].push(module));
            next.push(row);
        }
        Self { next, previous }
    }

    /// For each module a number that is smaller than those of all it leads to, unless by a loop (reverse postorder).
    fn ranks(&self) -> Vec<usize> {
        let count = self.next.len();
        let mut ranks = vec![0; count];
        let mut seen = vec![false; count];
        let mut left = count;
        // Modules on the way to the current one, each with how many of its edges are done.
        let mut way: Vec<(usize, usize)> = Vec::new();
        for module in (0..count).rev() {
            if !std::mem::replace(&mut seen[module], true) {
                way.push((module, 0));
            }
            while let Some((at, done)) = way.last_mut() {
                if let Some(&next) = self.next[*at].get(*done) {
                    *done += 1;
                    if !std::mem::replace(&mut seen[next], true) {
                        way.push((next, 0));
                    }
                } else {
                    left -= 1;
                    ranks[*at] = left;
                    way.pop();
                }
            }
        }
        ranks
    }
}

/// Where one attribute is wanted and where it has a value; the memory serves one attribute after the other.
struct Walk<'p> {
    paths: &'p Paths,
    writes: Marks,
    /// Where a frame's value, as it comes in, is read before it is written.
    live: Marks,
    /// Where such a value may have been written before.
    written: Marks,
    /// Where it may not have been; the seed is the module at which the frame entered.
    bare: Marks,
    /// The modules in which there is a value to keep, ascending.
    kept: Vec<usize>,
    /// For each of these its component's number, in the order of their first members.
    group_of: Vec<usize>,
    groups: Groups,
}

impl<'p> Walk<'p> {
    fn new(paths: &'p Paths) -> Self {
        let count = paths.next.len();
        let [writes, live, written, bare] = std::array::from_fn(|_| Marks::new(count));
        let (group_of, groups) = (vec![0; count], Groups { parent: vec![0; count] });
        Self { paths, writes, live, written, bare, kept: Vec::new(), group_of, groups }
    }

    /// Walks the attribute with these uses.
    fn take(&mut self, uses: &[Use]) {
        let Paths { next, previous } = self.paths;
        let Self { writes, live, written, bare, .. } = self;
        let writers = || uses.iter().filter(|it| it.writes).map(|it| it.module);
        writes.spread(writers(), |_| std::iter::empty());

        let readers = uses.iter().filter(|it| it.reads).map(|it| it.module);
        live.spread(readers, |module| previous[module].iter().filter(|it| !writes.has(**it)));

        let onward = |module: usize| next[module].iter().filter(|it| live.has(**it));
        let through = |module: usize| (!writes.has(module)).then(|| onward(module)).into_iter().flatten();
        written.spread(writers().flat_map(|writer| onward(writer).copied()), through);
        let entries = live.marked.iter().copied().filter(|module| previous[*module].is_empty());
        bare.spread(entries, through);

        self.keep();
    }

    /// Collects the modules that keep a value and joins them along every edge that one is kept across.
    fn keep(&mut self) {
        let Self { paths, writes, live, written, kept, group_of, groups, .. } = self;
        let wanted = |module: usize| paths.next[module].iter().filter(|next| live.has(**next));
        kept.clear();
        kept.extend(&written.marked);
        kept.extend(writes.marked.iter().filter(|it| !written.has(**it) && wanted(**it).next().is_some()));
        kept.sort_unstable();
        kept.iter().for_each(|module| groups.set_apart(*module));
        for &module in kept.iter() {
            wanted(module).for_each(|next| groups.join(module, *next));
        }
        let mut count = 0;
        for &module in kept.iter() {
            let root = groups.root(module);
            if root == module {
                group_of[module] = count;
                count += 1;
            } else {
                group_of[module] = group_of[root];
            }
        }
    }

    /// Whether a frame may come to `module` with a value that is wanted there or behind it.
    fn arrives(&self, module: usize) -> bool {
        self.written.has(module)
    }

    /// Whether what a frame leaves `module` with is read.
    fn is_read_behind(&self, module: usize) -> bool {
        self.paths.next[module].iter().any(|next| self.live.has(*next))
    }

    /// Whether there is a value in `module` that must be kept.
    fn keeps(&self, module: usize) -> bool {
        self.arrives(module) || self.writes.has(module) && self.is_read_behind(module)
    }
}

/// A set of modules, each with the seed that it was first reached from. To empty it costs nothing.
struct Marks {
    /// Which round's marks count.
    round: u32,
    /// For each module, the last round that marked it, and the seed.
    marks: Vec<(u32, usize)>,
    /// The modules of this round.
    marked: Vec<usize>,
}

impl Marks {
    fn new(count: usize) -> Self {
        Self { round: 0, marks: vec![(0, 0); count], marked: Vec::new() }
    }

    fn has(&self, module: usize) -> bool {
        self.marks[module].0 == self.round
    }

    fn seed(&self, module: usize) -> Option<usize> {
        self.has(module).then(|| self.marks[module].1)
    }

    /// Marks `seeds` and all that `step` leads to from them, and nothing else.
    fn spread<'s, I: Iterator<Item = &'s usize>>(
        &mut self,
        seeds: impl Iterator<Item = usize>,
        step: impl Fn(usize) -> I,
    ) {
        self.round += 1;
        self.marked.clear();
        let mut waiting = Vec::new();
        for seed in seeds {
            waiting.push(seed);
            while let Some(module) = waiting.pop() {
                if !self.has(module) {
                    self.marks[module] = (self.round, seed);
                    self.marked.push(module);
                    waiting.extend(step(module).copied());
                }
            }
        }
    }
}

/// Disjoint sets of modules (union-find with path halving). A set's root is its first module.
struct Groups {
    parent: Vec<usize>,
}

impl Groups {
    /// Makes `module` a set of its own.
    fn set_apart(&mut self, module: usize) {
        self.parent[module] = module;
    }

    fn root(&mut self, mut module: usize) -> usize {
        while self.parent[module] != module {
            self.parent[module] = self.parent[self.parent[module]];
            module = self.parent[module];
        }
        module
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.parent[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
#[path = "scope_tests.rs"]
mod tests;
