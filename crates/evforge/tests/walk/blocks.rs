//! The blocks of code of a document.

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Commands, which must succeed.
    Commands,
    /// Commands, the last of which must fail.
    Failing,
    /// Commands that go on while those after them run.
    Live,
    /// What the commands before it have printed.
    Output,
    /// What those that went on have printed, at their end.
    LiveOutput,
    /// A file, or something else that nobody types.
    Other,
}

/// A block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) kind: Kind,
    /// Line of its fence, from 1.
    pub(crate) line: usize,
    /// Its lines, each with its end.
    pub(crate) text: String,
}

/// All blocks of a document. A fence without a language is commands that nobody would run: it is refused.
pub(crate) fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = document.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(fence) = line.strip_prefix("```") else { continue };
        let line = number + 1;
        let kind = match fence {
            "sh" => Kind::Commands,
            "sh fails" => Kind::Failing,
            "sh live" => Kind::Live,
            "text" => Kind::Output,
            "text live" => Kind::LiveOutput,
            "text recorded" | "toml" | "json" | "csv" | "python" => Kind::Other,
            other => panic!("line {line}: a block that nobody walks: ```{other}"),
        };
        let inside = lines.by_ref().take_while(|(_, line)| *line != "```");
        let text: String = inside.map(|(_, line)| format!("{line}\n")).collect();
        blocks.push(Block { kind, line, text });
    }
    blocks
}

#[test]
fn blocks_are_told_apart() {
    let document = "a\n```sh\nls\n```\nb\n```text live\n1\n…\n```\n```sh fails\nfalse\n```\n";
    let block = |kind, line, text: &str| Block { kind, line, text: text.to_owned() };
    let expected = [
        block(Kind::Commands, 2, "ls\n"),
        block(Kind::LiveOutput, 6, "1\n…\n"),
        block(Kind::Failing, 10, "false\n"),
    ];
    assert_eq!(blocks(document), expected);
    assert!(std::panic::catch_unwind(|| blocks("```\nrm\n```\n")).is_err(), "a block without a language");
    assert!(std::panic::catch_unwind(|| blocks("```bash\nrm\n```\n")).is_err(), "another language");
}
