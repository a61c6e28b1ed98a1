//! What lists tell: the tables, less what the daemon does not have.

use tidegate_control::classes::MODULES;
use tidegate_control::proto::bess::{
    CommandRequest, CreateModuleRequest, EmptyRequest, GetMclassInfoRequest, QueueCommandGetStatusResponse,
};
use tidegate_control::{ClientError, Errno};

use crate::fake::{Daemon, Fake};

#[test]
fn a_class_that_the_daemon_lacks_is_neither_listed_nor_made() {
    let daemon = Daemon::start(Fake::default());
    let mut client = daemon.client();
    let names = client.list_mclass(EmptyRequest {}).unwrap().names;
    let expected = MODULES.iter().map(|class| class.name).filter(|name| *name != "NoOP");
    assert!(names.iter().map(String::as_str).eq(expected));
    let made = client.create_module(CreateModuleRequest { mclass: "NoOP".into(), ..Default::default() });
    assert!(matches!(made, Err(ClientError::Refused(fault)) if fault.errno == Errno::ENOENT));
    assert!(client.get_mclass_info(GetMclassInfoRequest { name: "NoOP".into() }).is_err());
}

#[test]
fn an_answer_by_any_says_what_it_is() {
    let daemon = Daemon::start(Fake::default());
    let mut client = daemon.client();
    let name = client
        .create_module(CreateModuleRequest { mclass: "Queue".into(), ..Default::default() })
        .unwrap()
        .name;
    let request = CommandRequest { name, cmd: "get_status".into(), arg: None };
    let data = client.module_command(request).unwrap().data.unwrap();
    let status: QueueCommandGetStatusResponse = data.to_msg().unwrap();
    assert_eq!((status.count, status.size), (4, 64));
}
