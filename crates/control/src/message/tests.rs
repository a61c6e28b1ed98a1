//! Every message by Any: what is taken, what is refused, and by which words.

use super::*;
use crate::proto::bess::{
    ExactMatchArg, Field, FieldData, GenericEncapArg, L2ForwardCommandSetDefaultGateArg, MeasureArg, NatArg,
    QueueArg, RandomUpdateArg, SetMetadataArg, SourceArg, WildcardMatchCommandAddArg, WorkerSplitArg, field,
    field_data, generic_encap_arg, nat_arg, random_update_arg, set_metadata_arg,
};

fn any(name: &str, value: &[u8]) -> Any {
    Any { type_url: format!("{URL_PREFIX}{name}"), value: value.into() }
}

fn wrong(message: impl Into<Message>) -> String {
    let message = message.into();
    Message::decode(message.kind(), Some(&message.to_any())).unwrap_err().text
}

fn taken(message: impl Into<Message>) {
    let message = message.into();
    assert_eq!(Message::decode(message.kind(), Some(&message.to_any())), Ok(message));
}

#[test]
fn every_message_refuses_another_and_bytes_that_are_cut_short() {
    for kind in Kind::ALL.iter().copied() {
        let other = if kind == Kind::QueueArg { Kind::SinkArg } else { Kind::QueueArg };
        let given = any(&other.full_name(), &[]);
        let fault = Message::decode(kind, Some(&given)).unwrap_err();
        let wanted = format!("{} was expected, not `{}`", kind.full_name(), given.type_url);
        assert_eq!(fault, Fault::invalid(wanted));

        let cut = any(&kind.full_name(), &[0x0a, 0x7f, 0x01]);
        let fault = Message::decode(kind, Some(&cut)).unwrap_err();
        assert!(fault.text.starts_with(&format!("{kind} is damaged: ")), "{fault}");
    }
}

#[test]
fn an_empty_argument_may_be_absent_or_empty_in_any_way() {
    let least = Message::from(SourceArg::default());
    let absent = Message::decode(Kind::SourceArg, None);
    assert_eq!(absent, Ok(least.clone()));
    for name in ["bess.pb.EmptyArg", "bess.pb.EmptyRequest", "google.protobuf.Empty", "bess.pb.SourceArg"] {
        assert_eq!(Message::decode(Kind::SourceArg, Some(&any(name, &[]))), Ok(least.clone()), "{name}");
    }
    assert_eq!(Message::decode(Kind::SourceArg, Some(&Any::default())), Ok(least));
    assert!(Message::decode(Kind::SourceArg, Some(&any("bess.pb.EmptyArg", &[8, 1]))).is_err());
}

#[test]
fn a_type_url_counts_from_its_last_slash() {
    for prefix in ["", "/", "type.googleapis.com/", "example.net/a/b/"] {
        let any = Any { type_url: format!("{prefix}bess.pb.QueueArg"), value: vec![8, 64] };
        let expected = QueueArg { size: 64, ..Default::default() };
        assert_eq!(Message::decode(Kind::QueueArg, Some(&any)), Ok(expected.into()));
    }
}

#[test]
fn a_message_is_taken_out_as_what_it_is_alone() {
    let message = Message::from(QueueArg { size: 1, ..Default::default() });
    assert_eq!(QueueArg::try_from(message.clone()).map(|arg| arg.size), Ok(1));
    let fault = SourceArg::try_from(message).unwrap_err();
    assert_eq!(fault.text, "bess.pb.SourceArg was expected, not `QueueArg`");
}

#[test]
fn a_field_wants_a_place_and_a_length() {
    let at = |position, num_bytes| ExactMatchArg {
        fields: vec![Field { num_bytes, position }],
        masks: Vec::new(),
    };
    let offset = |offset| Some(field::Position::Offset(offset));
    taken(at(offset(2048), 8));
    assert_eq!(wrong(at(None, 4)), "ExactMatchArg: fields[0]: one of attr_name and offset must be given");
    assert_eq!(wrong(at(offset(2049), 4)), "ExactMatchArg: fields[0]: offset is 2049: it may be 0 to 2048");
    assert_eq!(wrong(at(offset(0), 9)), "ExactMatchArg: fields[0]: num_bytes is 9: it may be 1 to 8");
    let name = Some(field::Position::AttrName("n".repeat(256)));
    assert!(wrong(at(name, 4)).ends_with("is 256 bytes long: 255 are the most"));
}

#[test]
fn a_rule_wants_values_with_masks() {
    let int = |value| FieldData { encoding: Some(field_data::Encoding::ValueInt(value)) };
    let rule = |values, masks| WildcardMatchCommandAddArg { gate: 1, priority: -5, values, masks };
    taken(rule(vec![int(1)], vec![int(u64::MAX)]));
    let text = wrong(rule(vec![int(1)], vec![FieldData { encoding: None }]));
    assert_eq!(text, "WildcardMatchCommandAddArg: masks[0]: one of value_bin and value_int must be given");
    let text = wrong(rule(vec![int(1), int(2)], vec![int(1)]));
    assert_eq!(text, "WildcardMatchCommandAddArg: 2 values want as many masks, not 1");
}

#[test]
fn numbers_out_of_range_are_refused() {
    taken(L2ForwardCommandSetDefaultGateArg { gate: -1 });
    assert!(
        wrong(L2ForwardCommandSetDefaultGateArg { gate: -2 }).contains("gate is -2: it may be 0 to 8192")
    );
    assert!(wrong(SourceArg { pkt_size: 2049 }).contains("pkt_size is 2049"));
    assert!(
        wrong(MeasureArg { jitter_sample_prob: -0.5, ..Default::default() })
            .contains("is -0.5: it may be 0 to 1")
    );
    assert!(wrong(WorkerSplitArg { worker_gates: [(64, 0)].into() }).contains("worker is 64"));
    let port_ranges = vec![nat_arg::PortRange { begin: 9, end: 9, suspended: false }];
    let ext_addrs = vec![nat_arg::ExternalAddress { ext_addr: "10.0.0.1".into(), port_ranges }];
    assert!(wrong(NatArg { ext_addrs }).contains("ext_addrs[0]: port_ranges[0]: ports 9 to 9 are none"));
    let field = random_update_arg::Field { offset: -1, size: 4, min: 0, max: 1 };
    assert!(wrong(RandomUpdateArg { fields: vec![field] }).contains("offset is -1"));
}

#[test]
fn attributes_have_a_name_and_at_most_32_bytes() {
    let attribute = |name: &str, size| SetMetadataArg {
        attrs: vec![set_metadata_arg::Attribute { name: name.into(), size, ..Default::default() }],
    };
    taken(attribute("vlan", 32));
    assert!(wrong(attribute("vlan", 33)).contains("size is 33: it may be 1 to 32"));
    assert!(wrong(attribute("", 2)).contains("name is missing"));
    let field = generic_encap_arg::EncapField { size: 4, insertion: None };
    assert!(
        wrong(GenericEncapArg { fields: vec![field] }).contains("one of attribute and value must be given")
    );
}
