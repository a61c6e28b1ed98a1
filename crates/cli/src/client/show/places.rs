//! Ports, workers and traffic classes.

use super::{View, list, only};
use crate::client::columns::Columns;
use crate::client::rates;
use anyhow::Result;
use tidegate_control::Client;
use tidegate_control::proto::bess::{EmptyRequest, ListTcsRequest, TrafficClass, traffic_class::Arg};
use tidegate_control::proto::v1::watch_request::Kind;

pub(super) fn ports(client: &mut Client, name: Option<&str>) -> Result<View> {
    let ports = only("port", client.list_ports(EmptyRequest {})?.ports, name, |port| port.name.clone())?;
    let counters = rates::once(client, &[Kind::Ports])?;
    let mut columns =
        Columns::new(&["port", "driver", "address", ">queues", ">received", ">dropped", ">sent", ">dropped"]);
    for port in &ports {
        let counted = counters.ports.iter().find(|it| it.port == port.name);
        let received = counted.and_then(|it| it.received).unwrap_or_default();
        let sent = counted.and_then(|it| it.sent).unwrap_or_default();
        columns.row([
            port.name.clone(),
            port.driver.clone(),
            port.mac_addr.clone(),
            format!("{}/{}", port.num_inc_q, port.num_out_q),
            received.packets.to_string(),
            received.dropped.to_string(),
            sent.packets.to_string(),
            sent.dropped.to_string(),
        ]);
    }
    let nothing = "no ports: add one with tidegate add port DRIVER NAME FIELD=VALUE";
    Ok(View { text: columns.text_or(nothing), json: list(&ports) })
}

pub(super) fn workers(client: &mut Client, name: Option<&str>) -> Result<View> {
    let workers = client.list_workers(EmptyRequest {})?.workers_status;
    let workers = only("worker", workers, name, |worker| worker.wid.to_string())?;
    let mut columns = Columns::new(&[">worker", ">core", "state", ">classes", ">lost at loose gates"]);
    for worker in &workers {
        columns.row([
            worker.wid.to_string(),
            worker.core.to_string(),
            if worker.running { "running" } else { "paused" }.to_owned(),
            worker.num_tcs.to_string(),
            worker.silent_drops.to_string(),
        ]);
    }
    let nothing =
        "no workers: one is made with the first module that has a task, or by tidegate add worker 0 core=0";
    Ok(View { text: columns.text_or(nothing), json: list(&workers) })
}

pub(super) fn classes(client: &mut Client, name: Option<&str>) -> Result<View> {
    let statuses = client.list_tcs(ListTcsRequest { wid: -1 })?.classes_status;
    let classes: Vec<TrafficClass> = statuses.into_iter().filter_map(|status| status.class).collect();
    let counters = rates::once(client, &[Kind::Classes])?;
    let shown = only("traffic class", classes.clone(), name, |class| class.name.clone())?;
    let mut columns =
        Columns::new(&["class", "policy", "limit", "place", ">worker", ">runs", ">packets", ">cycles"]);
    for class in in_tree_order(&shown) {
        let used = counters.classes.iter().find(|it| it.class == class.name && it.wid == class.wid);
        let used = used.cloned().unwrap_or_default();
        columns.row([
            format!("{}{}", "  ".repeat(depth(class, &shown)), class.name),
            [&class.policy[..], &class.resource].join(" ").trim().to_owned(),
            limit(class),
            match class.arg {
                Some(Arg::Priority(priority)) => format!("priority {priority}"),
                Some(Arg::Share(share)) => format!("share {share}"),
                None => String::new(),
            },
            class.wid.to_string(),
            used.count.to_string(),
            used.packets.to_string(),
            used.cycles.to_string(),
        ]);
    }
    Ok(View { text: columns.text_or("no traffic classes: there is no worker yet"), json: list(&shown) })
}

fn limit(class: &TrafficClass) -> String {
    let limit = class.limit.get(&class.resource).filter(|limit| **limit > 0);
    let burst = class.max_burst.get(&class.resource).filter(|burst| **burst > 0);
    let limit = limit.map(|limit| format!("{limit}/s"));
    let burst = burst.map(|burst| format!("burst {burst}"));
    limit.into_iter().chain(burst).collect::<Vec<_>>().join(" ")
}

fn depth(class: &TrafficClass, all: &[TrafficClass]) -> usize {
    let above = |class: &&TrafficClass| {
        all.iter().find(|it| it.name == class.parent && it.wid == class.wid && !class.parent.is_empty())
    };
    std::iter::successors(Some(class), above).take(all.len()).count() - 1
}

/// Each class below its parent.
fn in_tree_order(all: &[TrafficClass]) -> Vec<&TrafficClass> {
    let is_root = |class: &&TrafficClass| depth(class, all) == 0;
    let mut order = Vec::new();
    for root in all.iter().filter(is_root) {
        let mut left = vec![root];
        while let Some(class) = left.pop() {
            if order.len() < all.len() {
                order.push(class);
            }
            let below = |it: &&TrafficClass| it.parent == class.name && it.wid == class.wid;
            left.extend(all.iter().filter(below).rev());
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_stand_below_their_parents() {
        let class = |name: &str, parent: &str| TrafficClass {
            name: name.into(),
            parent: parent.into(),
            ..Default::default()
        };
        let all = [class("b", "a"), class("a", ""), class("c", "b"), class("d", "a"), class("e", "")];
        let order: Vec<&str> = in_tree_order(&all).iter().map(|class| class.name.as_str()).collect();
        assert_eq!(order, ["a", "b", "c", "d", "e"]);
        assert_eq!(depth(&all[2], &all), 2);
    }
}
