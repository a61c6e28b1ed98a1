//! What the pipeline's own services cost: a line with each, beside the one without.

use anyhow::{Context as _, Result};
use tidegate_modules::mark::{MetadataSource, MetadataValue, SetMetadata};
use tidegate_pipeline::class::{Policy, Position, Resource};
use tidegate_pipeline::metadata::Place;
use tidegate_pipeline::{Module, Worker};

use super::lines::{Line, Parts, row};

pub(crate) const LINES: &[Line] = &[
    Line {
        name: "source, sink, by a tree of three classes",
        reference: None,
        build: |_, batch| Ok(Parts { prepare: rank, ..row(batch, Vec::new())? }),
    },
    Line { name: "set metadata", reference: None, build: |_, batch| metadata(batch, Place::At(0)) },
    Line {
        name: "set metadata that nobody reads",
        reference: None,
        build: |_, batch| metadata(batch, Place::Unread),
    },
];

/// Puts the source's task below a share below a limit that it does not reach.
fn rank(worker: &mut Worker) -> Result<()> {
    let leaf = worker.leaf("source", 0).context("the source has no task")?;
    worker.edit_classes(|tree| {
        let limit =
            Policy::RateLimit { resource: Resource::Packet, limit: 10_000_000_000, max_burst: 1_000_000 };
        let limit = tree.add("limit", None, limit, Position::None)?;
        let share = Policy::WeightedFair(Resource::Cycle);
        let share = tree.add("share", Some(limit), share, Position::None)?;
        let class = tree.find_leaf(leaf).context("the task has no class")?;
        Ok(tree.reparent(class, Some(share), Position::Share(1))?)
    })
}

/// An attribute of four bytes for every frame, at a place or nowhere.
fn metadata(batch: usize, place: Place) -> Result<Parts> {
    let value = MetadataValue { name: "tag".into(), size: 4, source: MetadataSource::Number(7) };
    let mut set = SetMetadata::new(&[value])?;
    set.bind(&[place]);
    row(batch, vec![Box::new(set)])
}
