//! Lines of every type, valid and invalid, with their rewritten form. The files predate the derived serde code: a line
//! that is rewritten otherwise would change files that teams have in git.

use crate::records::Record;

#[test]
fn golden_lines_are_rewritten_byte_for_byte() {
    let (read, written) = (include_str!("golden/read.jsonl"), include_str!("golden/written.jsonl"));
    assert_eq!(read.lines().count(), written.lines().count());
    for (number, (line, expected)) in (1..).zip(read.lines().zip(written.lines())) {
        let again = match Record::parse(line) {
            Ok(record) => record.line(),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(again, expected, "line {number}: {line}");
    }
}
