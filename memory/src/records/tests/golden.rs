//! Lines of every kind and every oddity, each with what it is when it is written again. The files were made before
//! records were read and written by serde's derived code: a line that comes out otherwise would change what teams have in
//! git.

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
