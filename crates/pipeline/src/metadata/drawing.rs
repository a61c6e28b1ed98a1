//! Scenes for tests, drawn module by module. No test of its own.

use super::*;

/// A graph under construction; module 5 is called `m5`.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    names: Vec<String>,
    pub(super) attributes: Vec<Vec<Attribute>>,
    pub(super) next: Vec<Vec<usize>>,
}

impl Drawing {
    pub(super) fn new(module_count: usize, edges: &[(usize, usize)]) -> Self {
        let mut next = vec![Vec::new(); module_count];
        edges.iter().for_each(|(from, to)| next[*from].push(*to));
        let names = (0..module_count).map(|module| format!("m{module}")).collect();
        Self { names, attributes: vec![Vec::new(); module_count], next }
    }

    /// Modules in a row.
    pub(super) fn row(module_count: usize) -> Self {
        let edges: Vec<(usize, usize)> = (1..module_count).map(|to| (to - 1, to)).collect();
        Self::new(module_count, &edges)
    }

    pub(super) fn with(mut self, module: usize, attribute: Attribute) -> Self {
        self.attributes[module].push(attribute);
        self
    }

    /// One byte that `writer` writes and `readers` read.
    pub(super) fn byte(self, name: &'static str, writer: usize, readers: &[usize]) -> Self {
        let drawn = self.with(writer, Attribute::write(name, 1));
        readers.iter().fold(drawn, |drawn, reader| drawn.with(*reader, Attribute::read(name, 1)))
    }

    pub(super) fn lay_out(&self) -> Layout {
        self.lay_out_after(&Layout::default())
    }

    pub(super) fn lay_out_after(&self, before: &Layout) -> Layout {
        let modules: Vec<ModuleView<'_>> = (0..self.names.len())
            .map(|module| ModuleView {
                name: &self.names[module],
                attributes: &self.attributes[module],
                next: &self.next[module],
            })
            .collect();
        lay_out_after(&Scene { modules: &modules }, before)
    }
}

/// The members of each component of `attribute`.
pub(super) fn members(layout: &Layout, attribute: &str) -> Vec<Vec<usize>> {
    let own = layout.components().iter().filter(|it| it.attribute == attribute);
    own.map(|it| it.members.clone()).collect()
}

/// The faults, as a user reads them.
pub(super) fn told(layout: &Layout) -> Vec<String> {
    layout.faults().iter().map(Fault::to_string).collect()
}
