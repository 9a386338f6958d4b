use super::*;

#[test]
fn the_table_of_calls_can_be_read() {
    let table = Table::parse(super::super::syscalls::SOURCE).expect("compiled in");
    assert!(table.calls().len() > 380);
}
