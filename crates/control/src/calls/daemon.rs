//! The daemon as a whole.

use super::{Reply, done};
use crate::proto::bess::{
    EmptyRequest, ImportPluginRequest, ListPluginsResponse, UnloadPluginRequest, VersionResponse,
};
use crate::{Controller, names};

pub(crate) fn get_version(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply<VersionResponse> {
    Ok(VersionResponse { error: None, version: daemon.version()? })
}

pub(crate) fn reset_all(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply {
    done(daemon.reset_all())
}

pub(crate) fn kill_bess(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply {
    done(daemon.kill())
}

pub(crate) fn import_plugin(daemon: &mut dyn Controller, request: ImportPluginRequest) -> Reply {
    done(daemon.import_plugin(&names::required("plugin", request.path)?))
}

pub(crate) fn unload_plugin(daemon: &mut dyn Controller, request: UnloadPluginRequest) -> Reply {
    done(daemon.unload_plugin(&names::required("plugin", request.path)?))
}

pub(crate) fn list_plugins(daemon: &mut dyn Controller, _: EmptyRequest) -> Reply<ListPluginsResponse> {
    Ok(ListPluginsResponse { error: None, paths: daemon.plugins()? })
}
