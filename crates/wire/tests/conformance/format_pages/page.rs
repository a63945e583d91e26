//! The examples of a page.

/// A packet in a page.
#[derive(Debug)]
pub(crate) struct Example {
    /// Line of the page in which its block begins.
    pub(crate) line: usize,
    /// The variant of the format; empty where there is only one.
    pub(crate) variant: String,
    /// The packet.
    pub(crate) bytes: Vec<u8>,
    /// What the page says is in it.
    pub(crate) decoded: String,
}

/// A block of code.
struct Block {
    line: usize,
    kind: String,
    content: String,
}

/// All blocks of code of a page.
fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in (1..).zip(text.lines()) {
        match (line.strip_prefix("```"), &mut open) {
            (Some(kind), None) => {
                open = Some(Block { line: number, kind: kind.to_owned(), content: String::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.content += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    match open {
        Some(block) => Err(format!("{}: the block does not end", block.line)),
        None => Ok(blocks),
    }
}

/// The examples of a page, or in which line which of its blocks lacks its partner or is no bytes.
pub(crate) fn examples(text: &str) -> Result<Vec<Example>, String> {
    let mut examples = Vec::new();
    let mut packet: Option<(usize, String, Vec<u8>)> = None;
    for Block { line, kind, content } in blocks(text)? {
        let (kind, variant) = kind.split_once(' ').unwrap_or((&kind, ""));
        packet = match (kind, packet) {
            ("hex", None) => Some((line, variant.to_owned(), bytes(line, &content)?)),
            ("decoded", Some((line, variant, bytes))) => {
                examples.push(Example { line, variant, bytes, decoded: content });
                None
            }
            ("decoded", None) => return Err(format!("{line}: no block hex right before this one")),
            (_, Some((line, ..))) => return Err(format!("{line}: no block decoded right behind this one")),
            (_, None) => None,
        };
    }
    match packet {
        Some((line, ..)) => Err(format!("{line}: no block decoded right behind this one")),
        None => Ok(examples),
    }
}

/// The bytes of a block that begins in this line.
fn bytes(line: usize, content: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for (number, text) in (line + 1..).zip(content.lines()) {
        let digits = text.split('#').next().unwrap_or_default();
        for pair in digits.split_whitespace() {
            let byte = u8::from_str_radix(pair, 16).ok().filter(|_| pair.len() == 2);
            bytes.push(
                byte.ok_or_else(|| format!("{number}: `{pair}` is no byte in two hexadecimal digits"))?,
            );
        }
    }
    Ok(bytes)
}
