//! Modules that give frames times and attributes, and read them.

use super::field::unsigned;
use super::recipe::Sharing::{Alone, Each};
use super::recipe::{Answer, Class, On, refused, row};
use super::seed;
use tidegate_control::Fault;
use tidegate_control::proto::bess::{self, measure_command_get_summary_response as summary};
use tidegate_modules::mark::*;
use tidegate_modules::{HistogramSummary, Measure, MeasureParams, StampPlace};

pub(super) const CLASSES: &[&dyn Class] = &[
    &row(
        "Measure",
        Alone,
        |arg: bess::MeasureArg, _| measure(arg),
        &[
            &On("get_summary", |it: &mut Measure, arg: bess::MeasureCommandGetSummaryArg| {
                get_summary(it, &arg)
            }),
            &On("clear", |it: &mut Measure, _: bess::EmptyArg| {
                it.clear();
                Ok(None)
            }),
        ],
    ),
    &row("MetadataTest", Each, |arg: bess::MetadataTestArg, _| metadata_test(arg), &[]),
    &row("SetMetadata", Each, |arg: bess::SetMetadataArg, _| set_metadata(arg), &[]),
    &row("Timestamp", Each, |arg: bess::TimestampArg, _| timestamp(arg), &[]),
];

/// 0 is the module's own choice.
fn measure(arg: bess::MeasureArg) -> Result<Measure, Fault> {
    let own = MeasureParams::default();
    let given = |value: u64, own: u64| if value == 0 { own } else { value };
    let place = match arg.r#type {
        Some(bess::measure_arg::Type::Offset(offset)) => StampPlace::Offset(offset),
        Some(bess::measure_arg::Type::AttrName(name)) => StampPlace::Attribute(name),
        None => own.place,
    };
    let share = arg.jitter_sample_prob;
    let params = MeasureParams {
        place,
        jitter_sample_prob: if share == 0.0 { own.jitter_sample_prob } else { share },
        latency_ns_max: given(arg.latency_ns_max, own.latency_ns_max),
        latency_ns_resolution: given(arg.latency_ns_resolution.into(), own.latency_ns_resolution),
        seed: seed()?,
    };
    Measure::new(&params).map_err(refused)
}

/// Percentiles are of a hundred on the wire.
fn get_summary(module: &mut Measure, arg: &bess::MeasureCommandGetSummaryArg) -> Answer {
    let shares = |percentiles: &[f64]| percentiles.iter().map(|it| it / 100.0).collect::<Vec<f64>>();
    let summary = module.summary(&shares(&arg.latency_percentiles), &shares(&arg.jitter_percentiles));
    let summary = summary.map_err(refused)?;
    if arg.clear {
        module.clear();
    }
    let answer = bess::MeasureCommandGetSummaryResponse {
        timestamp: tidegate_sys::clock::wall_ns() as f64 / 1e9,
        packets: summary.packets,
        bits: summary.bits,
        latency: Some(histogram(summary.latency)),
        jitter: Some(histogram(summary.jitter)),
    };
    Ok(Some(answer.into()))
}

fn histogram(it: HistogramSummary) -> summary::Histogram {
    summary::Histogram {
        count: it.count,
        above_range: it.above_range,
        resolution_ns: it.resolution_ns,
        min_ns: it.min_ns,
        avg_ns: it.avg_ns,
        max_ns: it.max_ns,
        total_ns: it.total_ns,
        percentile_values_ns: it.percentile_values_ns,
    }
}

fn timestamp(arg: bess::TimestampArg) -> Result<Timestamp, Fault> {
    let place = match arg.r#type {
        Some(bess::timestamp_arg::Type::Offset(offset)) => TimestampPlace::Offset(offset),
        Some(bess::timestamp_arg::Type::AttrName(name)) => TimestampPlace::Attribute(name),
        None => TimestampPlace::default(),
    };
    Timestamp::new(&place).map_err(refused)
}

fn set_metadata(arg: bess::SetMetadataArg) -> Result<SetMetadata, Fault> {
    use bess::set_metadata_arg::attribute::Value;
    let value = |it: bess::set_metadata_arg::Attribute| {
        let source = match it.value {
            Some(Value::ValueInt(number)) => MetadataSource::Number(number),
            Some(Value::ValueBin(bytes)) => MetadataSource::Bytes(bytes),
            None => MetadataSource::Frame {
                offset: unsigned("an offset", it.offset.into())?,
                mask: it.mask,
                shift_right: it.rshift_bits,
            },
        };
        Ok(MetadataValue { name: it.name, size: it.size, source })
    };
    let values = arg.attrs.into_iter().map(value).collect::<Result<Vec<_>, Fault>>()?;
    SetMetadata::new(&values).map_err(refused)
}

fn metadata_test(arg: bess::MetadataTestArg) -> Result<MetadataTest, Fault> {
    let list = |list: std::collections::HashMap<String, i64>| {
        let mut sizes = Vec::new();
        for (name, size) in list {
            sizes.push((name, unsigned("the size of an attribute", size)?));
        }
        sizes.sort();
        Ok::<_, Fault>(sizes)
    };
    let params =
        MetadataTestParams { read: list(arg.read)?, write: list(arg.write)?, update: list(arg.update)? };
    MetadataTest::new(&params).map_err(refused)
}
