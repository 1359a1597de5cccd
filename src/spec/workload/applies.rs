//! A field that changes nothing is a mistake: its writer expects something of it.

use super::{KeyName, WorkloadSpec};
use crate::spec::error::SpecError;
use crate::spec::source::Source;
use crate::workload::WorkloadKind::{
    Complex04, OltpReadOnly, OltpReadWrite, OltpUpdateIndex, OltpUpdateNonIndex, OltpWriteOnly,
    SelectRandomPoints, SelectRandomRanges,
};

/// Refuses fields that do not belong to the workload or to its keys.
pub(super) fn check(spec: &WorkloadSpec, source: &Source) -> Result<(), SpecError> {
    let refuse = |field: &str, message: String| {
        let place = Box::new(source.place(&format!("workload.{field}")));
        Err(SpecError::Refused { place, message })
    };
    let name = spec.kind.name();
    let reads = [OltpReadWrite, OltpReadOnly, Complex04];
    let index = [OltpReadWrite, OltpWriteOnly, OltpUpdateIndex, Complex04];
    let non_index = [OltpReadWrite, OltpWriteOnly, OltpUpdateNonIndex, Complex04];
    let both = [OltpReadWrite, OltpWriteOnly];
    let fields: [(&str, bool, &[_]); 12] = [
        ("range_size", spec.range_size.is_some(), &reads),
        ("point_selects", spec.point_selects.is_some(), &reads),
        ("simple_ranges", spec.simple_ranges.is_some(), &reads),
        ("sum_ranges", spec.sum_ranges.is_some(), &reads),
        ("order_ranges", spec.order_ranges.is_some(), &reads),
        ("distinct_ranges", spec.distinct_ranges.is_some(), &reads),
        ("range_selects", spec.range_selects.is_some(), &reads),
        ("index_updates", spec.index_updates.is_some(), &index),
        ("non_index_updates", spec.non_index_updates.is_some(), &non_index),
        ("delete_inserts", spec.delete_inserts.is_some(), &both),
        ("random_points", spec.random_points.is_some(), &[SelectRandomPoints]),
        ("number_of_ranges", spec.number_of_ranges.is_some(), &[SelectRandomRanges]),
    ];
    for (field, given, kinds) in fields {
        if given && !kinds.contains(&spec.kind) {
            let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            return refuse(
                field,
                format!("changes nothing in {name}; remove it (it is for {})", kinds.join(", ")),
            );
        }
    }
    if spec.delta.is_some() && spec.kind != SelectRandomRanges {
        return refuse(
            "delta",
            format!("changes nothing in {name}; remove it (it is for select_random_ranges)"),
        );
    }
    if spec.prepared == Some(true) && !spec.kind.can_be_prepared() {
        return refuse(
            "prepared",
            format!("`true` is not for {name}, which sends text as sysbench does; remove it"),
        );
    }
    check_keys(spec, source)?;
    let repeats = spec.repeats();
    let updates = [("index_updates", OltpUpdateIndex), ("non_index_updates", OltpUpdateNonIndex)];
    for ((field, kind), times) in updates.into_iter().zip([repeats.index_updates, repeats.non_index_updates])
    {
        if spec.kind == kind && times == 0 {
            return refuse(field, format!("`0` leaves nothing of {name}; write at least 1"));
        }
    }
    Ok(())
}

fn check_keys(spec: &WorkloadSpec, source: &Source) -> Result<(), SpecError> {
    let fields: [(&str, bool, &[KeyName], &str); 5] = [
        ("spec_iter", spec.spec_iter.is_some(), &[KeyName::Special, KeyName::Gaussian], "special, gaussian"),
        ("spec_pct", spec.spec_pct.is_some(), &[KeyName::Special], "special"),
        ("spec_res", spec.spec_res.is_some(), &[KeyName::Special], "special"),
        ("pareto_h", spec.pareto_h.is_some(), &[KeyName::Pareto], "pareto"),
        ("zipfian_exp", spec.zipfian_exp.is_some(), &[KeyName::Zipfian], "zipfian"),
    ];
    for (field, given, keys, names) in fields {
        if given && !keys.contains(&spec.keys) {
            let name = spec.distribution().name();
            let place = Box::new(source.place(&format!("workload.{field}")));
            let message = format!("changes nothing in {name} keys; remove it (it is for keys: {names})");
            return Err(SpecError::Refused { place, message });
        }
    }
    Ok(())
}
