//! The workloads by name.

use serde::{Deserialize, Serialize};

/// A workload by the name that sysbench gives it; those of sysbench 0.4's `--test=oltp` by its modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadKind {
    /// 14 reads and 4 writes between BEGIN and COMMIT.
    OltpReadWrite,
    /// The reads of `oltp_read_write`.
    OltpReadOnly,
    /// The writes of `oltp_read_write`.
    OltpWriteOnly,
    /// One row by id.
    OltpPointSelect,
    /// `k = k + 1` in one row.
    OltpUpdateIndex,
    /// A new `c` for one row.
    OltpUpdateNonIndex,
    /// One more row.
    OltpInsert,
    /// One row less.
    OltpDelete,
    /// Rows with any of several values of `k`.
    SelectRandomPoints,
    /// Number of rows in several ranges of `k`.
    SelectRandomRanges,
    /// Rows into a table of each thread, many in a statement.
    BulkInsert,
    /// sysbench 0.4, test mode `complex`.
    #[serde(rename = "sysbench04_complex")]
    Complex04,
    /// sysbench 0.4, test mode `simple`.
    #[serde(rename = "sysbench04_simple")]
    Simple04,
    /// sysbench 0.4, test mode `nontrx`, `select`.
    #[serde(rename = "sysbench04_select")]
    Select04,
    /// sysbench 0.4, test mode `nontrx`, `update_key`.
    #[serde(rename = "sysbench04_update_key")]
    UpdateKey04,
    /// sysbench 0.4, test mode `nontrx`, `update_nokey`.
    #[serde(rename = "sysbench04_update_nokey")]
    UpdateNokey04,
    /// sysbench 0.4, test mode `nontrx`, `insert`.
    #[serde(rename = "sysbench04_insert")]
    Insert04,
    /// sysbench 0.4, test mode `nontrx`, `delete`.
    #[serde(rename = "sysbench04_delete")]
    Delete04,
}

use WorkloadKind::{
    BulkInsert, Complex04, Delete04, Insert04, OltpDelete, OltpInsert, OltpPointSelect, OltpReadOnly,
    OltpReadWrite, OltpUpdateIndex, OltpUpdateNonIndex, OltpWriteOnly, Select04, SelectRandomPoints,
    SelectRandomRanges, Simple04, UpdateKey04, UpdateNokey04,
};

impl WorkloadKind {
    /// Every workload, for messages that list the choices.
    pub const ALL: [WorkloadKind; 18] = [
        OltpReadWrite,
        OltpReadOnly,
        OltpWriteOnly,
        OltpPointSelect,
        OltpUpdateIndex,
        OltpUpdateNonIndex,
        OltpInsert,
        OltpDelete,
        SelectRandomPoints,
        SelectRandomRanges,
        BulkInsert,
        Complex04,
        Simple04,
        Select04,
        UpdateKey04,
        UpdateNokey04,
        Insert04,
        Delete04,
    ];

    /// Its name in profiles and reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            OltpReadWrite => "oltp_read_write",
            OltpReadOnly => "oltp_read_only",
            OltpWriteOnly => "oltp_write_only",
            OltpPointSelect => "oltp_point_select",
            OltpUpdateIndex => "oltp_update_index",
            OltpUpdateNonIndex => "oltp_update_non_index",
            OltpInsert => "oltp_insert",
            OltpDelete => "oltp_delete",
            SelectRandomPoints => "select_random_points",
            SelectRandomRanges => "select_random_ranges",
            BulkInsert => "bulk_insert",
            Complex04 => "sysbench04_complex",
            Simple04 => "sysbench04_simple",
            Select04 => "sysbench04_select",
            UpdateKey04 => "sysbench04_update_key",
            UpdateNokey04 => "sysbench04_update_nokey",
            Insert04 => "sysbench04_insert",
            Delete04 => "sysbench04_delete",
        }
    }

    /// Whether it is one of sysbench 0.4's modes, which use one table named `sbtest`.
    #[must_use]
    pub fn is_04(self) -> bool {
        matches!(self, Complex04 | Simple04 | Select04 | UpdateKey04 | UpdateNokey04 | Insert04 | Delete04)
    }

    /// Whether BEGIN and COMMIT stand around its statements unless they are switched off.
    #[must_use]
    pub fn has_transactions(self) -> bool {
        matches!(self, OltpReadWrite | OltpReadOnly | OltpWriteOnly | Complex04)
    }

    /// Whether its statements can be prepared: sysbench sends these inserts as text.
    #[must_use]
    pub fn can_be_prepared(self) -> bool {
        !matches!(self, OltpInsert | BulkInsert)
    }

    /// Whether it works on one table only.
    #[must_use]
    pub fn has_one_table(self) -> bool {
        self.is_04() || matches!(self, SelectRandomPoints | SelectRandomRanges)
    }

    /// Whether it changes how many rows there are.
    #[must_use]
    pub fn adds_or_removes_rows(self) -> bool {
        matches!(self, OltpInsert | OltpDelete | BulkInsert | Insert04 | Delete04)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_serialized_form() {
        for kind in WorkloadKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
