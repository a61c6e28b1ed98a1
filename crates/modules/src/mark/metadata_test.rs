//! Says that it reads, writes and updates attributes, and does nothing: to see where a graph's attributes are laid.
//!
//! | | |
//! |---|---|
//! | gates | in: any; out: any; all frames leave through gate 0 |
//! | parameters | names and sizes (1 to 32 bytes) of attributes that it reads, writes and updates |
//! | attributes | those |

use crate::parameter::{ParameterError, in_range};
use tidegate_packet::Batch;
use tidegate_pipeline::metadata::{ATTRIBUTE_LEN_MAX, Access, Attribute, Place};
use tidegate_pipeline::{Context, GateCounts, Module};

/// Attributes by name and size in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MetadataTestParams {
    /// Those that it says it reads.
    pub read: Vec<(String, u64)>,
    /// Those that it says it writes.
    pub write: Vec<(String, u64)>,
    /// Those that it says it reads, then writes.
    pub update: Vec<(String, u64)>,
}

/// The module.
pub struct MetadataTest {
    attributes: Vec<Attribute>,
    places: Vec<Place>,
}

impl MetadataTest {
    /// A module that says so.
    pub fn new(params: &MetadataTestParams) -> Result<Self, ParameterError> {
        let lists =
            [(&params.read, Access::Read), (&params.write, Access::Write), (&params.update, Access::Update)];
        let all = lists.into_iter().flat_map(|(list, access)| list.iter().map(move |it| (it, access)));
        let attribute = |((name, size), access): (&(String, u64), Access)| {
            if name.is_empty() {
                return Err(ParameterError::Nameless);
            }
            let size = in_range("an attribute's size in bytes", *size, 1..=ATTRIBUTE_LEN_MAX.into())? as u8;
            Ok(Attribute { name: name.clone().into(), size, access })
        };
        Ok(Self { attributes: all.map(attribute).collect::<Result<_, _>>()?, places: Vec::new() })
    }

    /// Where its attributes are, in the order read, written, updated.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
}

impl Module for MetadataTest {
    fn class(&self) -> &'static str {
        "metadata_test"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::MANY
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        ctx.emit_batch(0, batch);
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn bind(&mut self, places: &[Place]) {
        self.places = places.to_vec();
    }
}
