//! The arrows between the crates of the workspace and out of it, as `cargo metadata` tells them.
//!
//! Only what a manifest declares is here: neither what dependencies need in turn nor what a build resolved.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// What a crate needs another for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// The crate itself.
    Normal,
    /// Its tests and examples only.
    Dev,
    /// Its build script only.
    Build,
}

/// One arrow: `from` needs `to`. Names of our own crates are short: `tcp`, not `tidegate-tcp`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The crate whose manifest declares it.
    pub from: String,
    /// The crate it needs.
    pub to: String,
    /// What for.
    pub kind: EdgeKind,
}

/// The workspace's crates and every arrow that starts at one of them.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Short names of our crates.
    pub crates: BTreeSet<String>,
    /// Arrows, inside the workspace and out of it.
    pub edges: BTreeSet<Edge>,
}

impl Graph {
    /// Asks cargo about the workspace at `root`; resolves nothing and needs no network.
    pub fn load(root: &Path) -> anyhow::Result<Graph> {
        let manifest = root.join("Cargo.toml");
        let metadata = MetadataCommand::new().manifest_path(&manifest).no_deps().exec();
        let metadata =
            metadata.with_context(|| format!("read {} with cargo metadata", manifest.display()))?;
        let packages = metadata.workspace_packages();
        Ok(Graph {
            crates: packages.iter().map(|package| short(&package.name)).collect(),
            edges: packages.iter().flat_map(|package| edges_of(package)).collect(),
        })
    }

    /// The arrows of `kind` that stay inside the workspace.
    pub fn inner(&self, kind: EdgeKind) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.kind == kind && self.crates.contains(&edge.to))
    }

    /// Every arrow to a crate of others.
    pub fn outer(&self) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(|edge| !self.crates.contains(&edge.to))
    }
}

fn short(name: &str) -> String {
    name.strip_prefix("tidegate-").unwrap_or(name).to_owned()
}

fn edges_of(package: &Package) -> impl Iterator<Item = Edge> {
    package.dependencies.iter().map(|dependency| Edge {
        from: short(&package.name),
        to: short(&dependency.name),
        kind: match dependency.kind {
            DependencyKind::Development => EdgeKind::Dev,
            DependencyKind::Build => EdgeKind::Build,
            _ => EdgeKind::Normal,
        },
    })
}
