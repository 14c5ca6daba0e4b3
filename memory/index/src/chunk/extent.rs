//! Finds the extent of a definition by indentation.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineShape {
    Blank,
    /// Without nesting information: a preprocessor directive, a label.
    Neutral,
    /// Begins with a bracket or word that closes, or opens a body, at this indentation.
    Bracket(usize),
    Text(usize),
}

/// Indentation in columns; a tab extends to the next multiple of four.
pub(super) fn indent(line: &str) -> usize {
    let mut column = 0;
    for c in line.chars() {
        match c {
            ' ' => column += 1,
            '\t' => column += 4 - column % 4,
            _ => break,
        }
    }
    column
}

pub(super) fn shape(line: &str) -> LineShape {
    let text = line.trim();
    let column = indent(line);
    let word = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
    let directive = ["#if", "#el", "#en", "#de", "#un", "#in", "#pr"].iter().any(|start| text.starts_with(start));
    match text.chars().next() {
        None => LineShape::Blank,
        Some('#') if column == 0 && directive => LineShape::Neutral,
        Some(_)
            if text.ends_with(':') && text.len() == word.len() + 1 && !["else", "try", "finally"].contains(&word) =>
        {
            LineShape::Neutral
        }
        Some('}' | ')' | ']' | '{' | '>') => LineShape::Bracket(column),
        Some(_) if matches!(word, "end" | "where" | "done" | "fi" | "esac") => LineShape::Bracket(column),
        Some(_) => LineShape::Text(column),
    }
}

/// The last line of the definition that begins at `start`, before `end`.
pub(super) fn last_line(lines: &[&str], start: usize, end: usize) -> usize {
    let own = indent(lines[start]);
    let mut last = start;
    for (at, line) in lines.iter().enumerate().take(end).skip(start + 1) {
        match shape(line) {
            LineShape::Blank | LineShape::Neutral => {}
            LineShape::Bracket(column) | LineShape::Text(column) if column > own => last = at,
            LineShape::Bracket(column) if column == own => last = at,
            _ => break,
        }
    }
    last
}

/// The first line of the comments and attributes right above a definition, not before `floor`.
pub(super) fn with_preamble(lines: &[&str], start: usize, floor: usize) -> usize {
    const MARKS: &[&str] = &["//", "/*", "*", "#", "@", "--", ";;", "%", "\"\"\"", "template"];
    let own = indent(lines[start]);
    let belongs = |line: &&str| {
        let text = line.trim_start();
        // Inner lines of a block comment can be indented by one more column.
        MARKS.iter().any(|mark| text.starts_with(mark)) && (own..=own + 1).contains(&indent(line))
    };
    let above = lines[floor..start].iter().rev().take_while(|line| belongs(line)).count();
    start - above
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(text: &str) -> usize {
        let lines: Vec<&str> = text.lines().collect();
        last_line(&lines, 0, lines.len())
    }

    #[test]
    fn definition_ends_at_its_indentation() {
        assert_eq!(extent("fn a() {\n    x\n}\n\nfn b() {}\n"), 2);
        assert_eq!(extent("def a(\n    x,\n):\n    y\n\nz = 1\n"), 3);
        assert_eq!(extent("int a()\n{\n#ifdef X\n    x;\n#endif\nout:\n    y;\n}\nint b()\n"), 7);
        assert_eq!(extent("fn a<T>()\nwhere\n    T: X,\n{\n    y\n}\nconst X: u8 = 1;\n"), 5);
        assert_eq!(extent("struct A;\nstruct B;\n"), 0);
        assert_eq!(extent("def a\n  x\nend\ny\n"), 2);
    }

    #[test]
    fn definition_includes_comments_above() {
        let lines = ["use x;", "", "/// Doc.", "#[test]", "fn a() {}"];
        assert_eq!(with_preamble(&lines, 4, 0), 2);
        assert_eq!(with_preamble(&lines, 4, 3), 3);
        let block = ["/**", " * Doc.", " */", "void a() {"];
        assert_eq!(with_preamble(&block, 3, 0), 0);
    }
}
