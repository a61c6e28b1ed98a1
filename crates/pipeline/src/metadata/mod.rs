//! Where in a frame's scratch area each attribute lives that modules pass on to one another.
//!
//! ```text
//!   Scene (modules, what they read and write, who follows whom)
//!     -> scope::Scopes   which modules must agree on an offset: scope components
//!     -> colour::colour  which components may share bytes: those that no module has both of
//!     -> Layout          a Place for each attribute of each module; what is wrong, in Faults
//!     -> Relocation      for a module that keeps frames: what to move in them at a change
//! ```
//!
//! The method is that of Han 2019, chapter 5.3; `docs/specs/metadata.md` says where we part from it. It sees no frame
//! and no worker: whoever changes the graph calls [`lay_out_after`] and gives each module its places.
//!
//! Invariant: whatever the scene, no two attributes whose values are wanted at the same time have a byte in common.

mod access;
mod attribute;
mod colour;
mod fault;
mod relocation;
mod scope;

pub use access::{Slot, Span};
pub use attribute::{ATTRIBUTE_LEN_MAX, Access, Attribute, Place};
pub use fault::Fault;
pub use relocation::Relocation;

use relocation::Places;
use scope::{Home, Scope, Scopes};

/// One module, as far as attributes go.
#[derive(Clone, Copy, Debug)]
pub struct ModuleView<'a> {
    /// What faults call it.
    pub name: &'a str,
    /// What it reads and writes.
    pub attributes: &'a [Attribute],
    /// The modules that its output gates lead to, in any order, once or more often.
    pub next: &'a [usize],
}

/// Modules by number. A number in [`ModuleView::next`] that no module has is an open gate.
///
/// Frames may come in at any module that no other leads to.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The modules.
    pub modules: &'a [ModuleView<'a>],
}

/// Modules that must agree on an attribute's offset, for they pass its value on to one another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    /// What they call it.
    pub attribute: String,
    /// Bytes.
    pub size: u8,
    /// In bytes; `None` if there was no room.
    pub offset: Option<u8>,
    /// Their numbers, ascending; those too that only pass it on.
    pub members: Vec<usize>,
}

/// The places of all attributes of a scene.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Layout {
    places: Vec<Vec<Place>>,
    components: Vec<Component>,
    /// Of the modules.
    names: Vec<String>,
    used_len: usize,
    alive_len_max: usize,
    faults: Vec<Fault>,
}

/// Finds a place for each attribute of each module.
///
/// Takes any scene, one with loops too; what is wrong with it the layout says in its [`faults`](Layout::faults).
/// Time goes with attributes times the edges on which they are alive.
pub fn lay_out(scene: &Scene<'_>) -> Layout {
    lay_out_after(scene, &Layout::default())
}

/// As [`lay_out`], and leaves what it can where `before` had it. What moves all the same, the frames that modules keep
/// are told by [`Layout::relocations`].
pub fn lay_out_after(scene: &Scene<'_>, before: &Layout) -> Layout {
    let Scopes { list, homes, mut faults } = Scopes::of(scene);
    let alive_lens = colour::alive_lens(&list, scene.modules.len());
    let old = Places::of(before);
    let old_offset = |scope: &Scope<'_>| {
        let name = |module: &usize| scene.modules[*module].name;
        scope.members.iter().find_map(|module| old.find(name(module), scope.attribute, scope.size))
    };
    let old_offsets: Vec<Option<u8>> = list.iter().map(old_offset).collect();
    let colouring = colour::colour(&list, &alive_lens, &old_offsets);
    let place = |home: &Home| match *home {
        Home::Scope(component) => colouring.offsets[component].map_or(Place::NoRoom, Place::At),
        Home::Nowhere(place) => place,
    };
    let places = homes.iter().map(|row| row.iter().map(place).collect()).collect();
    let components = list.iter().zip(&colouring.offsets).map(|(scope, offset)| Component {
        attribute: scope.attribute.to_string(),
        size: scope.size,
        offset: *offset,
        members: scope.members.clone(),
    });
    let components: Vec<Component> = components.collect();
    faults.extend(components.iter().filter_map(|it| no_room(scene, it, &alive_lens)));
    let alive_len_max = alive_lens.into_iter().max().unwrap_or(0);
    let names = scene.modules.iter().map(|module| module.name.to_string()).collect();
    Layout { places, components, names, used_len: colouring.used_len, alive_len_max, faults }
}

fn no_room(scene: &Scene<'_>, component: &Component, alive_lens: &[usize]) -> Option<Fault> {
    if component.offset.is_some() {
        return None;
    }
    let module = *component.members.iter().max_by_key(|module| alive_lens[**module])?;
    Some(Fault::NoRoom {
        module: scene.modules[module].name.to_string(),
        attribute: component.attribute.clone(),
        size: component.size,
        alive_len: alive_lens[module],
    })
}

impl Layout {
    /// Where a module finds its attributes, in the order in which it declares them. Nothing for a module that the
    /// scene does not have.
    pub fn places(&self, module: usize) -> &[Place] {
        self.places.get(module).map_or(&[], Vec::as_slice)
    }

    /// The scope components, by attribute.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Bytes of the scratch area up to the last one in use.
    pub fn used_len(&self) -> usize {
        self.used_len
    }

    /// Bytes of the attributes alive in the module where most are: no layout uses fewer.
    pub fn alive_len_max(&self) -> usize {
        self.alive_len_max
    }

    /// What is wrong, by attribute.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

#[cfg(test)]
mod drawing;
#[cfg(test)]
mod path_tests;
#[cfg(test)]
mod tests;
