//! The 48 methods of `bess.pb.BESSControl` as one table, from which the server and the client are made.

/// Hands every method, as `name(Request) -> Response;`, to the macro `$then`.
macro_rules! for_each_method {
    ($then:ident) => {
        $then! {
            get_version(EmptyRequest) -> VersionResponse;
            reset_all(EmptyRequest) -> EmptyResponse;
            kill_bess(EmptyRequest) -> EmptyResponse;
            import_plugin(ImportPluginRequest) -> EmptyResponse;
            unload_plugin(UnloadPluginRequest) -> EmptyResponse;
            list_plugins(EmptyRequest) -> ListPluginsResponse;
            pause_all(EmptyRequest) -> EmptyResponse;
            pause_worker(PauseWorkerRequest) -> EmptyResponse;
            resume_worker(ResumeWorkerRequest) -> EmptyResponse;
            resume_all(EmptyRequest) -> EmptyResponse;
            reset_workers(EmptyRequest) -> EmptyResponse;
            list_workers(EmptyRequest) -> ListWorkersResponse;
            add_worker(AddWorkerRequest) -> EmptyResponse;
            destroy_worker(DestroyWorkerRequest) -> EmptyResponse;
            reset_tcs(EmptyRequest) -> EmptyResponse;
            list_tcs(ListTcsRequest) -> ListTcsResponse;
            check_scheduling_constraints(EmptyRequest) -> CheckSchedulingConstraintsResponse;
            add_tc(AddTcRequest) -> EmptyResponse;
            update_tc_params(UpdateTcParamsRequest) -> EmptyResponse;
            update_tc_parent(UpdateTcParentRequest) -> EmptyResponse;
            get_tc_stats(GetTcStatsRequest) -> GetTcStatsResponse;
            list_drivers(EmptyRequest) -> ListDriversResponse;
            get_driver_info(GetDriverInfoRequest) -> GetDriverInfoResponse;
            reset_ports(EmptyRequest) -> EmptyResponse;
            list_ports(EmptyRequest) -> ListPortsResponse;
            create_port(CreatePortRequest) -> CreatePortResponse;
            destroy_port(DestroyPortRequest) -> EmptyResponse;
            set_port_conf(SetPortConfRequest) -> CommandResponse;
            get_port_conf(GetPortConfRequest) -> GetPortConfResponse;
            get_port_stats(GetPortStatsRequest) -> GetPortStatsResponse;
            get_link_status(GetLinkStatusRequest) -> GetLinkStatusResponse;
            list_mclass(EmptyRequest) -> ListMclassResponse;
            get_mclass_info(GetMclassInfoRequest) -> GetMclassInfoResponse;
            reset_modules(EmptyRequest) -> EmptyResponse;
            list_modules(EmptyRequest) -> ListModulesResponse;
            create_module(CreateModuleRequest) -> CreateModuleResponse;
            destroy_module(DestroyModuleRequest) -> EmptyResponse;
            get_module_info(GetModuleInfoRequest) -> GetModuleInfoResponse;
            connect_modules(ConnectModulesRequest) -> EmptyResponse;
            disconnect_modules(DisconnectModulesRequest) -> EmptyResponse;
            dump_mempool(DumpMempoolRequest) -> DumpMempoolResponse;
            module_command(CommandRequest) -> CommandResponse;
            list_gate_hook_class(EmptyRequest) -> ListGateHookClassResponse;
            get_gate_hook_class_info(GetGateHookClassInfoRequest) -> GetGateHookClassInfoResponse;
            configure_gate_hook(ConfigureGateHookRequest) -> ConfigureGateHookResponse;
            list_gate_hooks(EmptyRequest) -> ListGateHooksResponse;
            gate_hook_command(GateHookCommandRequest) -> CommandResponse;
            configure_resume_hook(ConfigureResumeHookRequest) -> CommandResponse;
        }
    };
}

pub(crate) use for_each_method;

use crate::proto::bess::{self, Error};

/// An answer: it carries an error as its field 1.
pub(crate) trait Answer: Default {
    /// The answer that says no more than this error.
    fn failed(error: Error) -> Self;

    /// The error that it carries.
    fn error(&self) -> Option<&Error>;
}

macro_rules! answers {
    ($($name:ident),* $(,)?) => {
        $(impl Answer for bess::$name {
            #[allow(clippy::needless_update, reason = "some answers have no other field")]
            fn failed(error: Error) -> Self {
                Self { error: Some(error), ..Self::default() }
            }

            fn error(&self) -> Option<&Error> {
                self.error.as_ref()
            }
        })*
    };
}

answers! {
    VersionResponse, EmptyResponse, ListPluginsResponse, ListWorkersResponse, ListTcsResponse,
    CheckSchedulingConstraintsResponse, GetTcStatsResponse, ListDriversResponse, GetDriverInfoResponse,
    ListPortsResponse, CreatePortResponse, CommandResponse, GetPortConfResponse, GetPortStatsResponse,
    GetLinkStatusResponse, ListMclassResponse, GetMclassInfoResponse, ListModulesResponse,
    CreateModuleResponse, GetModuleInfoResponse, DumpMempoolResponse, ListGateHookClassResponse,
    GetGateHookClassInfoResponse, ConfigureGateHookResponse, ListGateHooksResponse,
}
