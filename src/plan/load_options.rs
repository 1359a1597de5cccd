//! Options of a server that only loads a dataset. It is stopped cleanly, with every page in its place, and the
//! measuring server is started on what it left: nothing of this is in force while anything is measured.

use std::collections::BTreeMap;

/// Datasets from this size on are loaded so unless the profile says otherwise. Smaller ones are there in the
/// seconds that another start of the server may take.
pub const WORTH_BYTES: u64 = 1 << 30;
/// The least buffer pool for loading: indexes are then built from pages that need not be read again.
const POOL_BYTES: u64 = 512 << 20;

/// What is different. A crash leaves no manifest, so that the dataset is loaded anew: nothing needs to
/// survive one.
const DIFFERENT: [(&str, &str); 6] = [
    ("innodb_doublewrite", "OFF"),
    ("innodb_flush_log_at_trx_commit", "0"),
    // Pages are written as fast as the device takes them, not at the pace that suits a measurement.
    ("innodb_io_capacity", "20000"),
    ("innodb_io_capacity_max", "40000"),
    ("innodb_log_buffer_size", "67108864"),
    // Entries of an index are sorted in fewer passes.
    ("innodb_sort_buffer_size", "8388608"),
];

/// The options for loading, complete, from those for measuring.
#[must_use]
pub fn load_options(measuring: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    const POOL: &str = "innodb_buffer_pool_size";
    let mut options = measuring.clone();
    options.extend(DIFFERENT.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let pool = options.get(POOL).and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    options.insert(POOL.to_owned(), POOL_BYTES.max(pool).to_string());
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_load_may_change_is_different() {
        let measuring: BTreeMap<String, String> = [
            ("innodb_buffer_pool_size", "83886080"),
            ("innodb_doublewrite", "ON"),
            ("innodb_page_size", "16384"),
            ("innodb_log_file_size", "268435456"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let text: String = load_options(&measuring).iter().map(|(n, v)| format!("{n}={v}\n")).collect();
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_large_pool_stays() {
        let measuring = BTreeMap::from([("innodb_buffer_pool_size".to_owned(), (24_u64 << 30).to_string())]);
        assert_eq!(load_options(&measuring)["innodb_buffer_pool_size"], (24_u64 << 30).to_string());
    }
}
