//! A zone and queries of one's own, such as the root's, compared by hand.
//!
//! `TIDEGATE_DIFFERENTIAL_ZONE` is a zone file, `TIDEGATE_DIFFERENTIAL_QUERIES` a file of lines "NAME TYPE", and
//! `TIDEGATE_DIFFERENTIAL_APEX` the zone's name: the root if unset.

use std::{env, fs};

use tidegate_testbed::ZoneFile;

use crate::corpus::Set;
use crate::queries::{Draw, listed_queries};

/// What the environment names.
pub(crate) struct Own {
    pub(crate) set: Set,
    /// Each line's in every dress.
    pub(crate) queries: Vec<Vec<u8>>,
}

impl Own {
    pub(crate) fn given() -> Own {
        let given = |what: &str| env::var(format!("TIDEGATE_DIFFERENTIAL_{what}"));
        let apex = given("APEX").unwrap_or(".".into());
        let set = Set::from(vec![ZoneFile { apex, path: given("ZONE").unwrap().into() }]);
        let listed = fs::read_to_string(given("QUERIES").unwrap()).unwrap();
        Own { set, queries: listed_queries(&listed, &mut Draw(1)) }
    }
}
