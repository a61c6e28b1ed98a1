//! Ends that nobody wishes for: of the daemon, and two daemons that want one address.

use crate::daemon::{Folder, Process, Scene, daemon};
use std::process::Stdio;
use tidegate_sys::netlink::Netlink;

/// Ports that leave traces in the kernel and in the file system, and packets that flow.
const BUSY: &str = "from session import *; bess = Bess(); path = sys.argv[1]
bess.create_port('VPort', 'v', ifname='tide0', ip_addrs=['10.9.0.1/24'])
bess.create_port('PMDPort', 't', vdev='net_tap0,iface=tide1')
bess.create_port('UnixSocketPort', 'u', path=path)
bess.create_module('Source', 'src'); bess.create_module('PortOut', 'out', port='v'); bess.connect('src', 'out')
bess.await_arrival('out', 1000)";

const GOES_ON: &str = "from session import *; bess = Bess(); bess.await_arrival('end', 1000)
[bess.request('DestroyModule', name=it.name) for it in bess.request('ListModules').modules if it.mclass == 'Bypass']
bess.await_arrival('end', 1000)";

const FLOWS: &str = "from session import *; bess = Bess()
bess.create_module('Source', 'src'); bess.create_module('Sink', 'end'); bess.connect('src', 'end')";

#[test]
fn second_daemon_on_an_address_says_so_and_ends() {
    let scene = Scene::start("second");
    let folder = Folder::new("second-other");
    let mut second = Process::spawn(&scene.netns, daemon(&folder, &[]).stderr(Stdio::piped()));
    assert!(!second.wait().success());
    let errors = second.errors();
    assert!(errors.contains("127.0.0.1:10514") && errors.contains("in use"), "{errors}");
    assert_eq!(errors.trim().lines().count(), 1, "{errors}");
    scene.python("-c", &[FLOWS]);
    scene.python("-c", &[GOES_ON]);
}

#[test]
fn killed_daemon_leaves_nothing_behind_and_starts_again_at_once() {
    let folder = Folder::new("killed");
    let (socket, peer) = (folder.join("control"), folder.join("peer"));
    let args = ["--socket", socket.as_str()];
    let mut scene = Scene::start_in(folder, &args);
    for _ in 0..3 {
        scene.python("-c", &[BUSY, &peer]);
        scene.daemon.kill();
        let links = Netlink::open_in(&scene.netns).unwrap().links().unwrap();
        assert_eq!(links.iter().map(|link| link.name.as_str()).collect::<Vec<_>>(), ["lo"]);
        scene.restart(&args);
    }
    scene.python("-c", &[BUSY, &peer]);
}
